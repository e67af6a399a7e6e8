"""The figures of Trippe, Nguyen and Broderick (2020), reproduced: ``python -m reproduction all``, one file a figure.

Every figure is a function that takes a `Reproduction` (where things are kept, how large the experiments are) and
returns a `Section` of the page: pictures, numbers behind them, and what the paper claims against what was measured.
All of it is written against the public interface of copartition, as a user would.
"""

from reproduction.everything import FIGURES, reproduce
from reproduction.experiments import SCALES, Reproduction, Scale

__all__ = ["FIGURES", "SCALES", "Reproduction", "Scale", "reproduce"]
