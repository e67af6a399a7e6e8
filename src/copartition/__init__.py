"""Unbiased posterior expectations over clusterings, from coupled Markov chains that meet.

Import it as ``import copartition as cp``. Everything public is named here.
"""

from copartition._version import __version__
from copartition.answers import Estimate, Sample
from copartition.chains.chain import conditional
from copartition.chains.density import log_density
from copartition.chains.neighbours import JointUpdates
from copartition.chains.start import Start
from copartition.chains.step import Step
from copartition.clustering import Clustering, cluster
from copartition.couplings.base import Coupling, partner
from copartition.couplings.common import Common
from copartition.couplings.independent import Independent
from copartition.couplings.matched import Matched
from copartition.couplings.maximal import Maximal
from copartition.couplings.path import Path
from copartition.couplings.transport import Transport
from copartition.diagnostics.bounds import sweeps_needed, tv_bound, wasserstein_bound
from copartition.diagnostics.consensus import Consensus
from copartition.diagnostics.evidence import Comparison, Evidence
from copartition.diagnostics.modes import Modes
from copartition.diagnostics.tuning import Tuned
from copartition.functionals import (
    Functional,
    block_matrix,
    cluster_similarity,
    cluster_sizes_histogram,
    co_clustering,
    concentration,
    distance_to,
    edge_probability,
    evaluation,
    functional,
    hyperparameters,
    largest_clusters,
    log_likelihood,
    memberships,
    n_clusters,
    n_components,
    nearest_pairs,
    predictive_density,
)
from copartition.partition import canonical, hamming_distance, overlaps, variation_of_information
from copartition.results import MeetingTimes
from copartition.results.store import StoreError
from copartition.runs.asymptotic_variance import asymptotic_variance
from copartition.runs.choice import How
from copartition.runs.comparing import compare
from copartition.runs.consensus import consensus
from copartition.runs.deadline import Seconds, Sweeps, estimate_within
from copartition.runs.drawing import WeightedPartitions, draw
from copartition.runs.estimating import ReplicateError, estimate
from copartition.runs.evidence import log_evidence
from copartition.runs.meeting import meeting_times
from copartition.runs.modes import find_modes
from copartition.runs.patience import SlowPairsWarning
from copartition.runs.pilot import TuningError, tune
from copartition.runs.powers import EvidenceError
from copartition.runs.sampling import sample
from copartition.targets.base import Target
from copartition.targets.coloring import GraphColoring
from copartition.targets.columns import Columns
from copartition.targets.discrete import Bernoulli, Categorical, Poisson
from copartition.targets.distributions import Beta, Gamma, InverseGamma, LogUniform, Normal
from copartition.targets.gaussian import Gaussian
from copartition.targets.hooks import (
    Keeping,
    begin_cluster,
    enter_cluster,
    leave_cluster,
    log_merge,
    log_odds,
    log_predictive,
)
from copartition.targets.mixture import Component, Mixture, Prepared
from copartition.targets.network.model import BlockModel
from copartition.targets.normal import NormalInverseGamma, NormalInverseWishart
from copartition.targets.priors import (
    DirichletProcess,
    FiniteMixture,
    MixtureOfFiniteMixtures,
    PitmanYor,
    Prior,
    prior_n_clusters,
)
from copartition.targets.tied import TiedGaussian
from copartition.targets.unknown import (
    Drawn,
    OnGrid,
    Unknowns,
    draw_hyperparameters,
    log_density_of_hyperparameters,
    renew,
    weigh_hyperparameter,
)
from copartition.view import plots, write_report

__all__ = [
    "Bernoulli",
    "Beta",
    "BlockModel",
    "Categorical",
    "Clustering",
    "Columns",
    "Common",
    "Comparison",
    "Component",
    "Consensus",
    "Coupling",
    "DirichletProcess",
    "Drawn",
    "Estimate",
    "Evidence",
    "EvidenceError",
    "FiniteMixture",
    "Functional",
    "Gamma",
    "Gaussian",
    "GraphColoring",
    "How",
    "Independent",
    "InverseGamma",
    "JointUpdates",
    "Keeping",
    "LogUniform",
    "Matched",
    "Maximal",
    "MeetingTimes",
    "Mixture",
    "MixtureOfFiniteMixtures",
    "Modes",
    "Normal",
    "NormalInverseGamma",
    "NormalInverseWishart",
    "OnGrid",
    "Path",
    "PitmanYor",
    "Poisson",
    "Prepared",
    "Prior",
    "ReplicateError",
    "Sample",
    "Seconds",
    "SlowPairsWarning",
    "Start",
    "Step",
    "StoreError",
    "Sweeps",
    "Target",
    "TiedGaussian",
    "Transport",
    "Tuned",
    "TuningError",
    "Unknowns",
    "WeightedPartitions",
    "__version__",
    "asymptotic_variance",
    "begin_cluster",
    "block_matrix",
    "canonical",
    "cluster",
    "cluster_similarity",
    "cluster_sizes_histogram",
    "co_clustering",
    "compare",
    "concentration",
    "conditional",
    "consensus",
    "distance_to",
    "draw",
    "draw_hyperparameters",
    "edge_probability",
    "enter_cluster",
    "estimate",
    "estimate_within",
    "evaluation",
    "find_modes",
    "functional",
    "hamming_distance",
    "hyperparameters",
    "largest_clusters",
    "leave_cluster",
    "log_density",
    "log_density_of_hyperparameters",
    "log_evidence",
    "log_likelihood",
    "log_merge",
    "log_odds",
    "log_predictive",
    "meeting_times",
    "memberships",
    "n_clusters",
    "n_components",
    "nearest_pairs",
    "overlaps",
    "partner",
    "plots",
    "predictive_density",
    "prior_n_clusters",
    "renew",
    "sample",
    "sweeps_needed",
    "tune",
    "tv_bound",
    "variation_of_information",
    "wasserstein_bound",
    "weigh_hyperparameter",
    "write_report",
]
