"""What a person is given: the plain data of a run, with all that one may ask of them."""

from copartition.answers.estimate import Estimate
from copartition.answers.sample import Sample

__all__ = ["Estimate", "Sample"]
