"""The results of a run as plain data, and the file that keeps them."""

from copartition.results.draws import Draws
from copartition.results.meeting import MeetingTimes
from copartition.results.replicates import Outcomes, Replicates
from copartition.results.unmet import Course, Unmet

__all__ = ["Course", "Draws", "MeetingTimes", "Outcomes", "Replicates", "Unmet"]
