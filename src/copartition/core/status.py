"""Why a kernel returns: because it is done, or because it needs Python's help.

A kernel that stops has left everything in a state from which it goes on when it is called again.
"""

from __future__ import annotations

DONE = 0
FULL = 1  # there are more clusters than rows
INVALID = 2  # log weights are NaN or plus infinity
IMPOSSIBLE = 3  # all log weights are minus infinity
WRONG_PARTNER = 4  # a coupling chose what is no choice
ASKING = 5  # functionals written in Python are to be evaluated
DIARY_FULL = 6  # what was written down is to be taken out
JOINED = 7  # two chains are about to run together, and it was asked to be told
RECORD_FULL = 8  # there is no room for more clusterings that are to be recorded
NO_HYPERPARAMETER = 9  # there is no distribution for a number that is to be drawn
PAUSED = 10  # nothing is needed: it has worked for a while, and whoever wants to interrupt it can
ATOMS_FULL = 11  # there is no room for more clusterings that are to be kept
