"""A real browser for tests of pages, where one is installed."""

from __future__ import annotations

import shutil
from contextlib import contextmanager
from dataclasses import dataclass, field

import pytest

PROGRAM = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
FLAGS = [
    "--no-sandbox",
    "--disable-gpu",
    "--no-first-run",
    "--disable-background-networking",
    "--disable-component-update",
    "--disable-sync",
]

needs_browser = pytest.mark.skipif(PROGRAM is None, reason="no Chromium on this machine: apt-get install chromium")


@dataclass
class Seen:
    """What a page did while it was open."""

    console: list[str] = field(default_factory=list)
    errors: list[str] = field(default_factory=list)
    dialogs: list[str] = field(default_factory=list)
    requests: list[str] = field(default_factory=list)


@contextmanager
def opened(path, width=1100, color_scheme="light"):
    """Open a file in the browser; yields the page and what it does."""
    from playwright.sync_api import sync_playwright

    with sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=PROGRAM, args=FLAGS)
        context = browser.new_context(viewport={"width": width, "height": 800}, color_scheme=color_scheme)
        page = context.new_page()
        seen = Seen()
        page.on("console", lambda message: seen.console.append(message.text))
        page.on("pageerror", lambda error: seen.errors.append(str(error)))
        page.on("dialog", lambda dialog: (seen.dialogs.append(dialog.message), dialog.dismiss()))
        page.on("request", lambda request: seen.requests.append(request.url))
        page.goto(path.as_uri())
        yield page, seen
        browser.close()


def assert_quiet(seen, path):
    """No messages, no errors, and nothing loaded but the file itself and what is inside it."""
    assert (seen.console, seen.errors, seen.dialogs) == ([], [], [])
    assert [url for url in seen.requests if not url.startswith("data:")] == [path.as_uri()]


def luminance(page, element, kind):
    """How light a colour is, from 0 to 1."""
    text = page.eval_on_selector(element, f"e => getComputedStyle(e).{kind}")
    red, green, blue = (int(part) / 255 for part in text.removeprefix("rgb(").removesuffix(")").split(",")[:3])
    return 0.2126 * red + 0.7152 * green + 0.0722 * blue
