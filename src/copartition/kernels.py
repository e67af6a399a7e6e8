"""For models, couplings and functionals of your own: the decorators of their compiled functions, and what holds these.

`docs/own-target.md` shows a target of one's own, from the first line to unknown hyperparameters.
"""

from copartition.chains.chain import conditional
from copartition.chains.density import log_density
from copartition.functionals import Functional, evaluation
from copartition.runs.choice import How
from copartition.targets.hooks import (
    Keeping,
    begin_cluster,
    enter_cluster,
    leave_cluster,
    log_merge,
    log_odds,
    log_predictive,
)
from copartition.targets.mixture import Component, Prepared
from copartition.targets.priors import Prior
from copartition.targets.unknown import (
    Drawn,
    OnGrid,
    Unknowns,
    draw_hyperparameters,
    log_density_of_hyperparameters,
    renew,
    weigh_hyperparameter,
)

__all__ = [
    "Component",
    "Drawn",
    "Functional",
    "How",
    "Keeping",
    "OnGrid",
    "Prepared",
    "Prior",
    "Unknowns",
    "begin_cluster",
    "conditional",
    "draw_hyperparameters",
    "enter_cluster",
    "evaluation",
    "leave_cluster",
    "log_density",
    "log_density_of_hyperparameters",
    "log_merge",
    "log_odds",
    "log_predictive",
    "renew",
    "weigh_hyperparameter",
]
