"""What a run came to, as plain data, and the file that keeps it."""

from copartition.results.draws import Draws
from copartition.results.meeting import MeetingTimes
from copartition.results.replicates import Outcomes, Replicates

__all__ = ["Draws", "MeetingTimes", "Outcomes", "Replicates"]
