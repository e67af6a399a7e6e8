"""Errors and warnings of runs that cannot give what was asked for, all of which say what to do."""

from copartition.results.store import StoreError
from copartition.runs.estimating import ReplicateError
from copartition.runs.pilot import TuningError
from copartition.runs.powers import EvidenceError
from copartition.runs.progress import SlowPairsWarning

__all__ = ["EvidenceError", "ReplicateError", "SlowPairsWarning", "StoreError", "TuningError"]
