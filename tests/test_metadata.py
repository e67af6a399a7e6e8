"""What goes with a release: one version, and a description that shows no broken pictures or links."""

from __future__ import annotations

import re
import tomllib
from pathlib import Path

import copartition as cp

ROOT = Path(__file__).resolve().parents[1]
LINK = re.compile(r"\]\((?!https?:|#)")  # to a file of this folder


def test_the_version_is_the_same_everywhere():
    """Importing, building and citing."""
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    assert "version" in project["project"]["dynamic"]
    source = (ROOT / project["tool"]["hatch"]["version"]["path"]).read_text(encoding="utf-8")
    assert f'__version__ = "{cp.__version__}"' in source
    assert f"\nversion: {cp.__version__}\n" in (ROOT / "CITATION.cff").read_text(encoding="utf-8")


def test_the_description_of_a_release_refers_to_no_file_of_this_folder():
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))
    text = (ROOT / "README.md").read_text(encoding="utf-8")
    assert LINK.search(text)
    for one in project["tool"]["hatch"]["metadata"]["hooks"]["fancy-pypi-readme"]["substitutions"]:
        text = re.sub(one["pattern"], one["replacement"], text)
    assert not LINK.search(text)
    assert "How to cite" in text
