"""What runs return: plain data, with all that one may ask of them."""

from copartition.answers.estimate import Estimate, Sample
from copartition.diagnostics.consensus import Consensus
from copartition.diagnostics.evidence import Comparison, Evidence
from copartition.diagnostics.modes import Modes
from copartition.diagnostics.tuning import Tuned
from copartition.results import MeetingTimes

__all__ = ["Comparison", "Consensus", "Estimate", "Evidence", "MeetingTimes", "Modes", "Sample", "Tuned"]
