"""Unbiased posterior expectations over clusterings, from coupled Markov chains that meet.

Import it as ``import copartition as cp``. Here is what a person who clusters needs; `couplings` and `kernels` have what
authors of couplings, models and functionals need, `functionals` all that can be estimated, `answers` what runs return,
`errors` what they raise, `partition` what two clusterings have in common, `plots` pictures.
"""

import warnings
from typing import Any

from copartition import answers as answers
from copartition import couplings, functionals, kernels
from copartition import errors as errors
from copartition import partition as partition
from copartition._version import __version__
from copartition.answers import Estimate
from copartition.chains.moves import JointUpdates
from copartition.chains.start import Start
from copartition.chains.step import Step
from copartition.clustering import Clustering, cluster
from copartition.couplings.transport import Transport
from copartition.diagnostics.bounds import sweeps_needed, tv_bound, wasserstein_bound
from copartition.functionals import (
    co_clustering,
    concentration,
    functional,
    hyperparameters,
    largest_clusters,
    memberships,
    n_clusters,
    predictive_density,
)
from copartition.runs.asymptotic_variance import asymptotic_variance
from copartition.runs.consensus import consensus
from copartition.runs.deadline import Seconds, Sweeps, estimate_within
from copartition.runs.drawing import WeightedPartitions, draw
from copartition.runs.estimating import estimate
from copartition.runs.evidence import compare, log_evidence
from copartition.runs.meeting import meeting_times
from copartition.runs.modes import find_modes
from copartition.runs.pilot import tune
from copartition.runs.sampling import sample
from copartition.targets.base import Target
from copartition.targets.coloring import GraphColoring
from copartition.targets.columns import Columns
from copartition.targets.discrete import Bernoulli, Categorical, Poisson
from copartition.targets.distributions import Beta, Gamma, InverseGamma, LogUniform, Normal
from copartition.targets.gaussian import Gaussian
from copartition.targets.mixture import Mixture
from copartition.targets.network import BlockModel
from copartition.targets.normal import NormalInverseGamma, NormalInverseWishart
from copartition.targets.priors import (
    DirichletProcess,
    FiniteMixture,
    MixtureOfFiniteMixtures,
    PitmanYor,
    prior_n_clusters,
)
from copartition.targets.tied import TiedGaussian
from copartition.view import plots, write_report

_MOVED = {
    **dict.fromkeys(("Common", "Coupling", "Independent", "Matched", "Maximal", "Path", "partner"), couplings),
    **dict.fromkeys(kernels.__all__, kernels),
    **dict.fromkeys(errors.__all__, errors),
    **dict.fromkeys(("Comparison", "Consensus", "Evidence", "MeetingTimes", "Modes", "Sample", "Tuned"), answers),
    **dict.fromkeys(("canonical", "hamming_distance", "overlaps", "variation_of_information"), partition),
    **dict.fromkeys(functionals.__all__, functionals),
}


def __getattr__(name: str) -> Any:
    """Return a name that was at the top before there was a release, with a warning that says where it is."""
    if name not in _MOVED:
        raise AttributeError(f"module 'copartition' has no attribute {name!r}")
    place = _MOVED[name].__name__
    warnings.warn(f"copartition.{name} is {place}.{name} now.", DeprecationWarning, stacklevel=2)
    return getattr(_MOVED[name], name)


__all__ = [
    "Bernoulli",
    "Beta",
    "BlockModel",
    "Categorical",
    "Clustering",
    "Columns",
    "DirichletProcess",
    "Estimate",
    "FiniteMixture",
    "Gamma",
    "Gaussian",
    "GraphColoring",
    "InverseGamma",
    "JointUpdates",
    "LogUniform",
    "Mixture",
    "MixtureOfFiniteMixtures",
    "Normal",
    "NormalInverseGamma",
    "NormalInverseWishart",
    "PitmanYor",
    "Poisson",
    "Seconds",
    "Start",
    "Step",
    "Sweeps",
    "Target",
    "TiedGaussian",
    "Transport",
    "WeightedPartitions",
    "__version__",
    "asymptotic_variance",
    "cluster",
    "co_clustering",
    "compare",
    "concentration",
    "consensus",
    "couplings",
    "draw",
    "estimate",
    "estimate_within",
    "find_modes",
    "functional",
    "functionals",
    "hyperparameters",
    "kernels",
    "largest_clusters",
    "log_evidence",
    "meeting_times",
    "memberships",
    "n_clusters",
    "plots",
    "predictive_density",
    "prior_n_clusters",
    "sample",
    "sweeps_needed",
    "tune",
    "tv_bound",
    "wasserstein_bound",
    "write_report",
]
