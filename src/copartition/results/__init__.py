"""What a run came to, as plain data, and the file that keeps it."""

from copartition.results.draws import Draws
from copartition.results.meeting import MeetingTimes
from copartition.results.replicates import Outcomes, Replicates
from copartition.results.unmet import Course, Unmet

__all__ = ["Course", "Draws", "MeetingTimes", "Outcomes", "Replicates", "Unmet"]
