"""Checks of what a person passed in. Each raises one sentence: the argument, the value, what would be right."""

from __future__ import annotations

import difflib
import inspect
import operator
from collections.abc import Callable, Iterable, Sequence
from typing import Any, NamedTuple

import numpy as np

LARGEST = 1 << 60  # sums of a few whole numbers still fit into 64 bits


class RowTitles(NamedTuple):
    """What errors call the rows of a table: lines of a file, names of an index, or, if there are none, numbers from 0.

    Attributes
    ----------
    word : str
        What goes before: "row", or "line" in a file.
    names : sequence, optional
        Names, or numbers as the user counts them.
    first : int
        The place of the first row among all.
    """

    word: str = "row"
    names: Sequence[Any] | None = None
    first: int = 0

    def title(self, row: int) -> str:
        """Return what to call a row in a sentence.

        Examples
        --------
        >>> RowTitles().title(3), RowTitles("line", [2, 3, 5]).title(2), RowTitles("row", ["a", "b"]).title(1)
        ('row 3', 'line 5', "row 'b'")
        """
        place = row + self.first
        name = place if self.names is None else self.names[place]
        is_number = isinstance(name, int | np.integer) and not _is_truth(name)
        return f"{self.word} {name if is_number else repr(str(name))}"

    def after(self, start: int) -> RowTitles:
        """Return the titles of the rows from here on."""
        return self._replace(first=self.first + start)


BY_NUMBER = RowTitles()


def titles_of_index(names: Sequence[Any] | None) -> RowTitles:
    """Return what errors call rows that have an index; those of one that has a name twice go by their numbers."""
    if names is None or list(names) == list(range(len(names))):
        return RowTitles()
    return RowTitles("row", names) if len(set(map(str, names))) == len(names) else RowTitles("row number")


def shorten(value: Any) -> str:
    """Return a text for a value that fits into an error message."""
    try:
        text = " ".join(repr(value).split())
    except ValueError:  # Python writes no whole numbers of more than 4,300 digits
        text = "a number of thousands of digits"
    return text if len(text) <= 60 else text[:57] + "..."


def _is_truth(value: Any) -> bool:
    """Tell whether a value is True or False: these are numbers to Python, and nobody means them to be."""
    return isinstance(value, bool | np.bool_)


def real(name: str, value: Any, what: str) -> float:
    """Return `value` as a float if it is a number; one beyond all floats is infinite.

    Parameters
    ----------
    name, value
    what : str
        What it must be, for the sentence that refuses anything else.
    """
    try:
        if _is_truth(value) or isinstance(value, str | bytes):
            raise TypeError
        return float(value)
    except OverflowError:
        return np.inf if value > 0 else -np.inf
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be {what}, got {shorten(value)}.") from None


def positive_number(name: str, value: Any) -> float:
    """Return `value` as a float if it is a positive, finite number."""
    number = real(name, value, "a positive number")
    if not (np.isfinite(number) and number > 0):
        raise ValueError(f"{name} must be positive and finite, got {shorten(value)}.")
    return number


def probability(name: str, value: Any) -> float:
    """Return `value` as a float if it lies in [0, 1]."""
    number = real(name, value, "a number from 0 to 1")
    if not 0.0 <= number <= 1.0:
        raise ValueError(f"{name} must be a number from 0 to 1, got {shorten(value)}.")
    return number


def confidence(level: Any) -> float:
    """Return the level of an interval as a float if it lies between 0 and 1."""
    number = real("level", level, "a number between 0 and 1")
    if not 0.0 < number < 1.0:
        raise ValueError(f"level must lie between 0 and 1, got {shorten(level)}.")
    return number


def flag(name: str, value: Any) -> bool:
    """Return `value` if it is True or False: a text would pass for True."""
    if not _is_truth(value):
        raise TypeError(f"{name} must be True or False, got {shorten(value)}.")
    return bool(value)


def integer(name: str, value: Any, least: int) -> int:
    """Return `value` as an int if it is a whole number of at least `least`."""
    try:
        number = operator.index(value)
    except TypeError:
        raise TypeError(f"{name} must be a whole number of at least {least}, got {shorten(value)}.") from None
    if number < least or _is_truth(value):
        raise ValueError(f"{name} must be a whole number of at least {least}, got {shorten(value)}.")
    if number > LARGEST and name != "seed":
        raise ValueError(f"{name} must be at most {LARGEST}, got {shorten(value)}.")
    return number


def _float_array(name: str, value: Any) -> np.ndarray:
    """Return `value` as a C-contiguous float array; numbers beyond all floats, text and single truths are refused."""
    try:
        if value is None or _is_truth(value) or np.asarray(value).dtype.kind not in "biufO":
            raise TypeError
        return np.ascontiguousarray(value, dtype=np.float64)
    except OverflowError:
        raise ValueError(f"{name} must be finite, got {shorten(value)}.") from None
    except (TypeError, ValueError):
        raise TypeError(f"{name} must be an array of numbers, got {shorten(value)}.") from None


def finite_array(name: str, value: Any, dimensions: tuple[int, ...]) -> np.ndarray:
    """Return `value` as a C-contiguous float array if it has one of these numbers of dimensions and is finite."""
    array = _float_array(name, value)
    if np.ma.is_masked(value):
        raise ValueError(f"{name} must have no masked values; leave these points out or fill them in.")
    if np.ndim(value) not in dimensions:  # ascontiguousarray makes scalars one-dimensional
        allowed = " or ".join(str(d) for d in dimensions)
        raise ValueError(f"{name} must have {allowed} dimension(s), got an array of shape {np.shape(value)}.")
    bad = np.flatnonzero(~np.isfinite(array))
    if bad.size:
        place = tuple(int(i) for i in np.unravel_index(bad[0], array.shape))
        raise ValueError(f"{name} must be finite, got {array.flat[bad[0]]} at index {place}.")
    return array.reshape(np.shape(value))


def number_array(name: str, value: Any, dimensions: int) -> np.ndarray:
    """Return `value` as a float array of that many dimensions without NaN; infinities are allowed."""
    array = _float_array(name, value)
    if np.ndim(value) != dimensions:
        raise ValueError(f"{name} must have {dimensions} dimension(s), got an array of shape {np.shape(value)}.")
    if np.isnan(array).any():
        raise ValueError(f"{name} must not be NaN, got {shorten(value)}.")
    return array


def column_array(name: str, value: Any, n_columns: int) -> np.ndarray:
    """Return a number, or one for each column, as an array of one for each column."""
    array = np.asarray(value, dtype=np.float64)
    if array.ndim == 1 and len(array) != n_columns:
        raise ValueError(f"{name} must be a number or {n_columns} numbers to fit the data, got {len(array)} numbers.")
    return np.broadcast_to(array, (n_columns,))


def plain(value: Any) -> str:
    """Return numbers as a text that Python reads, the middle of long ones left out."""
    if isinstance(value, np.ndarray | np.generic):
        value = value.tolist() if np.size(value) <= 64 else [*np.ravel(value)[:3].tolist(), ...]
    return repr(value)


def positive_array(name: str, value: Any) -> np.ndarray:
    """Return a positive number, or one for each column, as an array."""
    array = finite_array(name, value, (0, 1))
    if not np.all(array > 0):
        raise ValueError(f"{name} must be positive, got {shorten(value)}.")
    return array


def integer_array(name: str, value: Any) -> np.ndarray:
    """Return `value` as a one-dimensional array of whole numbers."""
    array = np.asarray(value)
    if array.ndim != 1 or (array.size and array.dtype.kind not in "iu"):
        raise TypeError(f"{name} must be a one-dimensional array of whole numbers, got {shorten(value)}.")
    return np.ascontiguousarray(array, dtype=np.int64)


def positive_definite(name: str, value: Any, size: int) -> np.ndarray:
    """Return `value` as a symmetric positive definite matrix of the given size."""
    matrix = finite_array(name, value, (2,))
    if matrix.shape != (size, size):
        raise ValueError(f"{name} must be a {size} x {size} matrix to fit the data, got shape {matrix.shape}.")
    if not np.allclose(matrix, matrix.T, rtol=1e-10, atol=0.0):
        raise ValueError(f"{name} must be symmetric, got {shorten(matrix)}.")
    try:
        np.linalg.cholesky(matrix)
    except np.linalg.LinAlgError:
        raise ValueError(f"{name} must be positive definite, got {shorten(matrix)}.") from None
    return matrix


def label_array(name: str, value: Any, n_points: int) -> np.ndarray:
    """Return `value` as an int64 array of one label a point; any whole numbers will do as labels."""
    array = np.asarray(value)
    if array.ndim != 1 or array.size == 0:
        raise ValueError(f"{name} must be a one-dimensional array of labels, got an array of shape {array.shape}.")
    if len(array) != n_points:
        raise ValueError(f"{name} must hold {n_points} labels, one a point, got an array of shape {array.shape}.")
    if array.dtype.kind not in "iu":
        raise TypeError(f"{name} must hold whole numbers, got {shorten(value)}.")
    return array.astype(np.int64)


def check_names(function: Callable[..., Any], given: Iterable[str], names: Sequence[str]) -> None:
    """Refuse keyword arguments that a function does not have.

    Parameters
    ----------
    function : callable
        Its last parameter collects further keyword arguments.
    given : iterable of str
        The names of those.
    names : sequence of str
        The names that there are, beside its other parameters.
    """
    for name in given:
        if name not in names:
            close = difflib.get_close_matches(
                name, [*list(inspect.signature(function).parameters)[:-1], *names], 1, 0.75
            )
            right = (
                f"did you mean {close[0]!r}?" if close else f"beside those that it names there are {', '.join(names)}."
            )
            raise TypeError(f"{function.__name__} takes no argument {name!r}; {right}")
