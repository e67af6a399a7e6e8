"""What a run gives back."""

from copartition.results.estimate import Estimate, estimate_of
from copartition.results.meeting import MeetingTimes
from copartition.results.sample import Sample

__all__ = ["Estimate", "MeetingTimes", "Sample", "estimate_of"]
