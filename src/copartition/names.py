"""Names of many components, made only when they are asked for."""

from __future__ import annotations

from collections.abc import Iterator, Mapping, Sequence
from math import isqrt
from typing import Any, overload


class Names(Sequence[str]):
    """A list of names that are made one by one when somebody looks: of fifty million pairs nobody does.

    Parameters
    ----------
    functionals : sequence of dict
        What is said of functionals in the description of a run: their ``name`` and ``size``, and ``components``,
        ``points``, ``pairs`` or ``partition``, from which the names follow.
    """

    def __init__(self, functionals: Sequence[Mapping[str, Any]]) -> None:
        self._functionals = list(functionals)

    def __len__(self) -> int:
        return sum(about["size"] for about in self._functionals)

    @overload
    def __getitem__(self, index: int) -> str: ...

    @overload
    def __getitem__(self, index: slice) -> list[str]: ...

    def __getitem__(self, index: int | slice) -> str | list[str]:
        if isinstance(index, slice):
            return [self[i] for i in range(*index.indices(len(self)))]
        place = range(len(self))[index]
        for about in self._functionals:
            if place < about["size"]:
                return name_at(about, place)
            place -= about["size"]
        raise IndexError(index)

    def __iter__(self) -> Iterator[str]:
        return (name_at(about, place) for about in self._functionals for place in range(about["size"]))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, list | tuple | Names):
            return NotImplemented
        return len(self) == len(other) and all(a == b for a, b in zip(self, other, strict=True))

    def __repr__(self) -> str:
        shown = ", ".join(repr(name) for name in self[:3])
        return f"[{shown}, ... {len(self)} in all]" if len(self) > 3 else f"[{shown}]"


def name_at(about: Mapping[str, Any], place: int) -> str:
    """Return the name of one component of a functional."""
    if "components" in about:
        return str(about["components"][place])
    called = about.get("names")

    def name_of(point: Any) -> str:
        return str(point) if called is None else str(called[point])

    if "points" in about:
        points = about["points"]
        a, b = pair_at(place, len(points))
        return f"together[{name_of(points[a])}, {name_of(points[b])}]"
    if "pairs" in about:
        a, b = about["pairs"][place]
        return f"together[{name_of(a)}, {name_of(b)}]"
    if "partition" in about:
        point, cluster = divmod(place, about["size"] // len(about["partition"]))
        return f"with[{name_of(point)}, cluster {cluster}]"
    return about["name"] if about["size"] == 1 else f"{about['name']}[{place}]"


def pair_at(place: int, count: int) -> tuple[int, int]:
    """Return the pair at a place of the list (0, 1), (0, 2), ..., (count - 2, count - 1)."""
    from_end = count * (count - 1) // 2 - 1 - place
    row = (isqrt(8 * from_end + 1) - 1) // 2
    return count - 2 - row, count - 1 - (from_end - row * (row + 1) // 2)


def are_shares(about: Mapping[str, Any]) -> bool:
    """Tell whether the components of a functional are probabilities or shares, and so lie between 0 and 1."""
    return list(about.get("range", ())) == [0.0, 1.0]
