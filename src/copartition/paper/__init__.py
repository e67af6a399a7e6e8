"""The figures of Trippe, Nguyen and Broderick (2020), reproduced: one file a figure.

Every figure is a function that takes a `Reproduction` (where things are kept, how large the experiments are) and
returns a `Section` of the page: pictures, numbers behind them, and what the paper claims against what was measured.
"""

from copartition.paper.everything import FIGURES, reproduce
from copartition.paper.reproduction import SCALES, Reproduction, Scale

__all__ = ["FIGURES", "SCALES", "Reproduction", "Scale", "reproduce"]
