"""Optional packages: nothing needs them that should not, and what does says how to install them."""

from __future__ import annotations

import importlib
import subprocess
import sys
import tomllib
from pathlib import Path

import pytest
from click.testing import CliRunner

import copartition as cp
import small
from copartition import datasets
from copartition.cli import main
from copartition.extras import PACKAGES, MissingPackageError, needed
from copartition.view import export

PYPROJECT = Path(__file__).resolve().parents[1] / "pyproject.toml"
NOT_FOR_USERS = {"tested", "all", "dev", "docs", "test"}


def sentence(by, module):
    package, extra = PACKAGES[module]
    return f'{by} needs the package {package}: pip install "copartition[{extra}]".'


def hide(monkeypatch, module):
    """Let a package seem not to be installed, whatever of it was imported before."""
    for name in [name for name in sys.modules if name.startswith(f"{module}.")]:
        monkeypatch.delitem(sys.modules, name)
    monkeypatch.setitem(sys.modules, module, None)


@pytest.fixture(scope="module")
def store(tmp_path_factory):
    path = tmp_path_factory.mktemp("extras") / "run.db"
    target, _ = small.scalar()
    wanted = [cp.n_clusters(), cp.co_clustering([0, 1, 2])]
    cp.estimate(target, wanted, replicates=6, burn_in=1, min_sweeps=3, lag=1, seed=1, store=path)
    return path


@pytest.fixture
def e(store):
    return cp.Estimate.load(store)


def test_extras_bring_what_the_sentences_say():
    """And each extra that users are told of is in the table."""
    extras = tomllib.loads(PYPROJECT.read_text(encoding="utf-8"))["project"]["optional-dependencies"]
    for package, extra in PACKAGES.values():
        assert any(line.startswith(f"{package}>=") for line in extras[extra]), package
    assert {extra for _, extra in PACKAGES.values()} == set(extras) - NOT_FOR_USERS
    assert all(extra in extras["all"][0] for extra in set(extras) - NOT_FOR_USERS)


def test_importing_the_package_imports_none_of_them():
    program = (
        "import sys, copartition.cli; from copartition.extras import PACKAGES;"
        "print([name for name in PACKAGES if name in sys.modules])"
    )
    found = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert found.stdout.strip() == "[]"


def test_a_package_that_is_there_and_broken_speaks_for_itself(tmp_path, monkeypatch):
    (tmp_path / "openpyxl.py").write_text("import no_such_module_anywhere")
    monkeypatch.syspath_prepend(tmp_path)
    monkeypatch.delitem(sys.modules, "openpyxl", raising=False)
    with pytest.raises(ModuleNotFoundError, match="no_such_module_anywhere") as caught:
        needed("openpyxl", by="A table")
    assert not isinstance(caught.value, MissingPackageError)


def graph_of(folder):
    (folder / "a.edges").write_text("a b\n")
    return folder / "a.edges"


def file_of(folder, name):
    (folder / name).write_text("")
    return folder / name


CALLS = [
    ("pandas", "to_dataframe", lambda e, p: e.to_dataframe()),
    ("pandas", "similarity_frame", lambda e, p: cp.consensus(e).similarity_frame()),
    ("arviz_base", "to_datatree", lambda e, p: e.to_datatree()),
    ("arviz_base", "{folder}/a.nc", lambda e, p: export.write(e, p / "a.nc")),
    ("h5netcdf", "{folder}/a.nc", lambda e, p: export.write(e, p / "a.nc")),
    ("pyarrow", "{folder}/a.parquet", lambda e, p: export.write(e, p / "a.parquet")),
    ("pyarrow", "{folder}/a.parquet", lambda e, p: datasets.read_table(file_of(p, "a.parquet"))),
    ("openpyxl", "{folder}/a.xlsx", lambda e, p: datasets.read_table(file_of(p, "a.xlsx"))),
    ("networkx", "{folder}/a.edges", lambda e, p: datasets.read_network(graph_of(p))),
    ("anndata", "{folder}/a.h5ad", lambda e, p: datasets.read_annotated(file_of(p, "a.h5ad"))),
    ("matplotlib", "A picture", lambda e, p: cp.plots.running(e)),
    ("matplotlib", "A report", lambda e, p: cp.write_report(e, p / "a.html")),
]


@pytest.mark.parametrize("name", ["sklearn", "anndata"])
def test_a_door_for_a_package_that_is_not_there_says_so(monkeypatch, name):
    hide(monkeypatch, name)
    monkeypatch.delitem(sys.modules, f"copartition.{name}", raising=False)
    with pytest.raises(MissingPackageError) as caught:
        importlib.import_module(f"copartition.{name}")
    assert str(caught.value) == sentence(f"copartition.{name}", name)


@pytest.mark.parametrize(("module", "by", "use"), CALLS)
def test_what_needs_a_missing_package_says_so(e, tmp_path, monkeypatch, module, by, use):
    by = repr(by.format(folder=tmp_path)) if "{" in by else by
    hide(monkeypatch, module)
    with pytest.raises(MissingPackageError) as caught:
        use(e, tmp_path)
    assert str(caught.value) == sentence(by, module)


COMMANDS = [
    ("pyarrow", "{folder}/a.parquet", "export {store} -o {folder}/a.parquet"),
    ("pyarrow", "{folder}/a.parquet", "estimate {folder}/a.parquet"),
    ("h5netcdf", "{folder}/a.nc", "export {store} -o {folder}/a.nc"),
    ("networkx", "{folder}/a.edges", "estimate {folder}/a.edges"),
    ("anndata", "{folder}/a.h5ad", "cluster {folder}/a.h5ad"),
    ("distributed", "--dask", "estimate --example galaxies --component normal --dask localhost:1"),
    ("matplotlib", "A report", "report {store} -o {folder}/a.html"),
]


@pytest.mark.parametrize(("module", "by", "command"), COMMANDS)
def test_commands_say_it_in_one_line(store, tmp_path, monkeypatch, module, by, command):
    for name in ("a.parquet", "a.h5ad"):
        file_of(tmp_path, name)
    graph_of(tmp_path)
    by = repr(by.format(folder=tmp_path)) if "{" in by else by
    hide(monkeypatch, module)
    words = [word.format(folder=tmp_path, store=store) for word in command.split()]
    result = CliRunner().invoke(main, words)
    assert result.exit_code == 2
    assert result.stderr == f"Error: {sentence(by, module)}\n"
