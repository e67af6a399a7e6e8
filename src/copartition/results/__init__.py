"""The results of a run as plain data, and the file that keeps them."""

from copartition.results.chains import Course, Draws, MeetingTimes, Unmet
from copartition.results.replicates import Outcomes, Replicates

__all__ = ["Course", "Draws", "MeetingTimes", "Outcomes", "Replicates", "Unmet"]
