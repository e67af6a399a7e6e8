import math

import numpy as np

import copartition as cp


@cp.log_predictive
def log_predictive(model, chain, n_choices, n):
    times, parameters = model[0].points, model[0].parameters
    sizes, sums, weights = chain[0].sizes, chain[0].sums, chain[0].weights
    a, b = parameters[0], parameters[1]
    x = times[n, 0]
    for k in range(n_choices):  # the last one is an empty cluster
        shape, rate = a + sizes[k], b + sums[k, 0]
        weights[k] = math.log(shape) + shape * math.log(rate) - (shape + 1.0) * math.log(rate + x)


class Exponential(cp.Component):
    """Waiting times, the rate of each cluster drawn from Gamma(a, b)."""

    def __init__(self, a, b):
        self.a, self.b = a, b

    def prepare(self, data):
        return cp.Prepared(log_predictive, points=data, parameters=np.array([self.a, self.b]))

    def transform(self, data):
        return data

    def __repr__(self):
        return f"Exponential(a={self.a}, b={self.b})"
