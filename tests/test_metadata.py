"""What goes with a release: one version, and a description that shows no broken pictures or links."""

from __future__ import annotations

import ast
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


def arguments_of(tree):
    """The functions of a module and how many arguments each has, an ``__init__`` by the name of its class."""
    for outer in ast.walk(tree):
        for node in getattr(outer, "body", []) if isinstance(getattr(outer, "body", None), list) else []:
            if isinstance(node, ast.FunctionDef):
                names = [one.arg for one in (*node.args.posonlyargs, *node.args.args, *node.args.kwonlyargs)]
                is_method = isinstance(outer, ast.ClassDef)
                name = outer.name if is_method and node.name == "__init__" else node.name
                yield name, len([one for one in names if one not in ("self", "cls")])


def test_functions_have_few_arguments():
    """At most 14 of public functions and 8 of others: what belongs together travels together."""
    public = {*cp.__all__, *cp.kernels.__all__, "MixtureClusterer", "cluster"}
    source = Path(cp.__file__).parent
    found = [(file, *one) for file in source.rglob("*.py") for one in arguments_of(ast.parse(file.read_text()))]
    assert len(found) > 1000
    many = [f"{file.name}: {name}, {n}" for file, name, n in found if n > (14 if name in public else 8)]
    assert not many
