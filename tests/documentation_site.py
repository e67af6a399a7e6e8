"""The documentation site, as built: every link inside it leads somewhere, and a browser shows what is meant to be seen.

`make docs` runs this file by its name; it is not one of the tests of `make check`, because it needs the built site.
"""

from __future__ import annotations

import threading
from contextlib import contextmanager
from functools import cache, partial
from html.parser import HTMLParser
from http.server import SimpleHTTPRequestHandler, ThreadingHTTPServer
from pathlib import Path
from urllib.parse import unquote, urlsplit

import pytest

from browser import FLAGS, PROGRAM
from public import public_names

SITE = Path(__file__).resolve().parents[1] / "out" / "docs"
TUTORIALS = ["cells", "galaxies", "network", "on-a-cluster", "own-model", "penguins", "reading-the-verdict"]


class Page(HTMLParser):
    """What a page refers to, and the places in it that others may refer to."""

    def __init__(self, path: Path) -> None:
        super().__init__()
        self.links: list[str] = []
        self.places: set[str] = {"", "top"}
        self.feed(path.read_text(encoding="utf-8"))

    def handle_starttag(self, tag, attrs):
        """Note links, pictures, scripts and styles, and everything that has a name."""
        given = {name: value or "" for name, value in attrs}
        self.places.update(given[name] for name in ("id", "name") if name in given)
        for attribute in ("href", "src"):
            if attribute in given:
                self.links.append(given[attribute])


@cache
def page(path: Path) -> Page:
    return Page(path)


def broken_links(site: Path) -> list[str]:
    """Return every link of a site to a file or a place in a page that is not there."""
    broken = []
    for path in sorted(site.rglob("*.html")):
        if "_static" in path.parts:
            continue  # a template of the theme
        for link in page(path).links:
            parts = urlsplit(link)
            if parts.scheme or parts.netloc:
                continue
            there = (path.parent / unquote(parts.path)).resolve() if parts.path else path
            if there.is_dir():
                there /= "index.html"
            if not there.is_relative_to(site) or not there.exists():
                broken.append(f"{path.relative_to(site)}: {link}")
            elif there.suffix == ".html" and unquote(parts.fragment) not in page(there).places:
                broken.append(f"{path.relative_to(site)}: {link} (no such place in the page)")
    return broken


class Quiet(SimpleHTTPRequestHandler):
    def log_message(self, *args):
        """Say nothing."""


@contextmanager
def served(folder: Path):
    """Serve a folder on this machine alone; yields its address."""
    server = ThreadingHTTPServer(("127.0.0.1", 0), partial(Quiet, directory=str(folder)))
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        server.server_close()
        thread.join()


@pytest.fixture(scope="module")
def browse():
    """A function that opens a page in a real browser and returns it, with all that went wrong so far in a list."""
    from playwright.sync_api import sync_playwright

    assert PROGRAM, "The site is tested in Chromium: apt-get install chromium."
    with served(SITE) as address, sync_playwright() as playwright:
        browser = playwright.chromium.launch(executable_path=PROGRAM, args=FLAGS)
        opened = []

        def browse(name, color_scheme="light"):
            one = browser.new_page(viewport={"width": 1300, "height": 850}, color_scheme=color_scheme)
            opened.append(one)
            wrong: list[str] = []
            one.on("console", lambda message: wrong.append(message.text) if message.type in ("error", "warning") else 0)
            one.on("pageerror", lambda error: wrong.append(str(error)))
            one.on("requestfailed", lambda request: wrong.append(f"failed: {request.url}"))
            one.on("request", lambda request: wrong.append(request.url) if not is_local(request.url, address) else 0)
            one.goto(f"{address}/{name}", wait_until="load")
            return one, wrong

        yield browse
        browser.close()


def is_local(url: str, address: str) -> bool:
    return url.startswith((address, "data:", "blob:"))


def pictures(one) -> list[dict]:
    """Return the address and the width of every picture in the text of a page, all of them loaded."""
    return one.eval_on_selector_all(
        "article img",
        """async all => {
            const decoded = all.map(i => { i.loading = 'eager'; return i.decode().catch(() => null); });
            await Promise.all(decoded);
            return all.map(i => ({src: i.getAttribute('src'), width: i.naturalWidth}));
        }""",
    )


def test_the_site_is_there():
    assert (SITE / "index.html").exists(), "make docs builds it."
    assert len(list(SITE.rglob("*.html"))) > 150


def test_every_link_inside_the_site_leads_somewhere():
    assert broken_links(SITE) == []


def test_a_broken_site_is_noticed(tmp_path):
    (tmp_path / "index.html").write_text('<a href="gone.html"></a><img src="gone.png"><a href="other.html#gone"></a>')
    (tmp_path / "other.html").write_text('<p id="here"></p><a href="index.html"></a><a href="#here"></a>')
    assert broken_links(tmp_path) == [
        "index.html: gone.html",
        "index.html: gone.png",
        "index.html: other.html#gone (no such place in the page)",
    ]


def test_every_public_name_has_a_page_with_an_example():
    for name in public_names():
        text = (SITE / "api" / "generated" / f"copartition.{name}.html").read_text(encoding="utf-8")
        assert f'id="copartition.{name}"' in text
        assert "&gt;&gt;&gt;" in text, f"{name} has no example"


@pytest.mark.parametrize("name", TUTORIALS)
def test_tutorials_were_executed(browse, name):
    one, wrong = browse(f"tutorials/{name}.html")
    assert one.locator(".cell_output").count() >= 4
    shown = pictures(one)
    assert all(picture["width"] > 0 for picture in shown), shown
    assert shown or name == "on-a-cluster"
    assert one.locator("text=Traceback").count() == 0
    assert wrong == []


def test_the_first_page_shows_the_picture_and_the_code_at_once(browse):
    one, wrong = browse("index.html")
    (picture,) = pictures(one)
    assert picture["width"] >= 800
    code = one.locator(".first pre")
    assert "cp.cluster" in code.inner_text()
    assert code.evaluate("e => e.scrollWidth <= e.clientWidth"), "lines of the code are cut off"
    for what in (".first pre", ".first img"):
        box = one.locator(what).bounding_box()
        assert box["y"] + box["height"] < 850, f"{what} is not in the first screen"
    assert wrong == []


def test_mathematics_is_set(browse):
    one, wrong = browse("how-it-works.html")
    one.wait_for_selector("article mjx-container svg")
    assert one.locator("article mjx-container").count() >= 20
    assert one.locator("article mjx-merror, article [data-mml-node='merror']").count() == 0
    assert "\\mathbb" not in one.locator("article").inner_text()
    assert wrong == []


def test_the_gallery_has_pictures(browse):
    one, wrong = browse("gallery/index.html")
    shown = pictures(one)
    assert len(shown) >= 10
    assert all(picture["width"] > 0 for picture in shown), shown
    assert sum("no_image" in picture["src"] for picture in shown) == 0
    assert wrong == []


PROGRAMS = {  # those that run for the site, and nowhere else, and what they say
    "bernoulli": "Mixture of 60 points x 12\n- Points of a cluster follow Bernoulli(a=0.5, b=0.5).",
    "cluster": "Wrote out/clusters.png and out/clusters.html.",
    "communities": "Wrote networks.png.",
    "faithful": "Wrote out/faithful.png and out/faithful.html.",
    "galaxies": "Wrote out/galaxies.png and out/galaxies.html.",
    "galaxies_unknown": "Wrote out/galaxies-clusters.png and out/galaxies-unknown.html.",
    "penguins": "Wrote out/penguins.png and out/penguins.html.",
}


@pytest.mark.parametrize("name", PROGRAMS)
def test_programs_of_the_gallery_were_run(browse, name):
    one, wrong = browse(f"gallery/{name}.html")
    first = pictures(one)[0]
    assert f"sphx_glr_{name}_" in first["src"]
    assert first["width"] >= 600
    said = one.locator(".sphx-glr-script-out").inner_text()
    assert PROGRAMS[name] in said
    assert "NOT MET" not in said
    assert "Traceback" not in said
    assert wrong == []


def test_the_search_finds_what_is_there_and_nothing_else(browse):
    one, wrong = browse("search.html?q=meeting+time")
    one.wait_for_selector("#search-results ul.search li")
    assert one.locator("#search-results ul.search li a", has_text="How it works").count() >= 1
    nothing, also_wrong = browse("search.html?q=zzyzxquux")
    nothing.wait_for_selector("#search-results p:has-text('did not match')")
    assert nothing.locator("#search-results ul.search li").count() == 0
    assert wrong == also_wrong == []


def test_dark_pages_are_dark(browse):
    one, wrong = browse("index.html", color_scheme="dark")
    background = one.evaluate("getComputedStyle(document.body).backgroundColor")
    red, green, blue = (int(part) for part in background.removeprefix("rgb(").removesuffix(")").split(",")[:3])
    assert max(red, green, blue) < 60
    assert wrong == []
