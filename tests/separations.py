"""How much of a column clusters explain, by definition."""

import numpy as np


def explained(cells, groups):
    """The share of the variance of numbers that is between groups, each with a weight for every row."""
    there = ~np.isnan(cells)
    x = cells[there]
    whole = np.sum((x - x.mean()) ** 2)
    between = 0.0
    for weights in groups:
        w = weights[there]
        if w.sum() > 0:
            between += w.sum() * (np.sum(w * x) / w.sum() - x.mean()) ** 2
    return between / whole


def informed(cells, groups):
    """The share of the entropy of categories that groups tell: Kullback and Leibler's, from the joint distribution."""
    there = [i for i, cell in enumerate(cells) if cell is not None]
    levels = sorted({cells[i] for i in there})
    joint = np.array([[sum(w[i] for i in there if cells[i] == level) for level in levels] for w in groups])
    joint = joint / joint.sum()
    both = joint.sum(axis=1)[:, None] * joint.sum(axis=0)
    used = joint > 0
    p = joint.sum(axis=0)
    return np.sum(joint[used] * np.log(joint[used] / both[used])) / -np.sum(p * np.log(p))
