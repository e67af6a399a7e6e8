"""Saying that something takes a while, where a person is likely to see it."""

from __future__ import annotations

import logging
import sys

logger = logging.getLogger(__name__.partition(".")[0])

_said: set[str] = set()


def announce_once(message: str) -> None:
    """Say something once in a process: on a terminal, in a notebook, and through `logging` elsewhere."""
    if message in _said:
        return
    _said.add(message)
    if in_notebook() or (sys.stderr is not None and sys.stderr.isatty()):
        print(f"copartition: {message}", file=sys.stderr, flush=True)
    else:
        logger.info(message)


def in_notebook() -> bool:
    """Tell whether this runs in a notebook: in IPython with a kernel."""
    ipython = sys.modules.get("IPython")
    shell = ipython.get_ipython() if ipython is not None and hasattr(ipython, "get_ipython") else None
    return getattr(shell, "kernel", None) is not None
