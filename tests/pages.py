"""Pages as tests read them."""

from __future__ import annotations

from made_up import Text


def parsed(path):
    parser = Text()
    parser.feed(path.read_text(encoding="utf-8"))
    return parser


def words(text):
    return " ".join(text.split())
