"""What to tell a person whose function could not be compiled: one sentence, and what would be right."""

from __future__ import annotations

import re
from collections.abc import Callable
from typing import Any

from copartition.core import state

FIELDS = {name: ", ".join(getattr(state, name)._fields) for name in ("Model", "Chain", "Pair", "Workspace")}

HINTS: list[tuple[str, str]] = [
    (r"Unknown attribute '(\w+)' of type (Model|Chain|Pair|Workspace)\b", "a {1} has no field '{0}', it has {fields}"),
    (
        r"Untyped global name '(\w+)'.*<class 'function'>",
        "the function '{0}' that it calls must be decorated with numba.njit",
    ),
    (r"Untyped global name '(\w+)'", "'{0}' cannot be compiled by Numba; use functions of math and numpy"),
    (r"No conversion from none to int64", "it must return a whole number on every path"),
    (r"No conversion from \S+ to none", "it must return nothing, and write its result into an array"),
    (
        r"NRT required|Function\(<built-in function (?:zeros|empty|ones|full|array)|_ol_array_allocate|build_list",
        "it makes an array or a list, which is not possible inside; use loops and scalars",
    ),
    (r"Signature mismatch", "it takes the wrong number of arguments"),
]


def complaint(function: Callable[..., Any], error: Exception) -> TypeError:
    """Return the error to raise for a function that Numba refused."""
    text = re.sub(r"\x1b\[[0-9;]*m", "", str(error))
    code = function.__code__
    where = f"{function.__name__} ({code.co_filename}, line {code.co_firstlineno})"
    line = re.search(r'File "[^"]*", line (\d+)', text)
    if line:
        where = f"{function.__name__} ({code.co_filename}, line {line.group(1)})"
    for pattern, hint in HINTS:
        found = re.search(pattern, text, flags=re.DOTALL)
        if found:
            groups = found.groups()
            fields = FIELDS.get(groups[1], "") if len(groups) > 1 else ""
            return TypeError(f"{where} cannot be compiled: {hint.format(*groups, fields=fields)}.")
    first = next((one.strip() for one in text.splitlines() if one.strip() and "nopython" not in one), text)
    return TypeError(
        f"{where} cannot be compiled: {first} (NUMBA_DISABLE_JIT=1 runs it as plain Python, for debugging)."
    )
