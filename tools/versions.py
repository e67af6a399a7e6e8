"""Run the tests on every Python that is found, in fresh environments with the newest and the oldest packages.

What is tested is the wheel, so that it is known to be complete. The oldest packages are those that the lower bounds in
pyproject.toml name, or the next ones that have wheels for that Python; what these need in turn is as new as may be.
"""

from __future__ import annotations

import argparse
import os
import re
import shutil
import subprocess
import sys
import time
from dataclasses import dataclass
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]
PYTHONS = ("3.11", "3.12", "3.13")
PACKAGES = ("oldest", "newest")
SHOWN = ("numpy", "scipy", "numba", "pandas")
# Every optional package is used in one of these, and but for a few none takes long with kernels in plain Python.
FAST = (
    "test_extras",
    "reproduction/test_cells",
    "datasets/test_tables",
    "datasets/test_graph_files",
    "results/test_store",
    "view/test_export",
)
SLOW = (
    "datasets/test_tables.py::test_commands_say_which_columns_they_used",
    "results/test_store.py::test_a_second_run_on_a_store_is_told_to_wait_and_the_first_loses_nothing",
)
SMOKE = ("estimate", "--example", "galaxies", "--component", "normal", "--replicates", "20")


@dataclass
class Outcome:
    """What came of one environment."""

    python: str
    packages: str
    versions: str = ""
    result: str = "not installed"
    passed: bool = False
    seconds: float = 0.0


def environment(**variables: str) -> dict[str, str]:
    """Return the variables of this process, some of them changed, without what would hide the wheel."""
    return {key: value for key, value in os.environ.items() if key != "PYTHONPATH"} | variables


def call(*words: str | Path) -> subprocess.CompletedProcess[str]:
    """Run a program in the project's folder; what it says is returned."""
    return subprocess.run([str(word) for word in words], cwd=ROOT, env=environment(), capture_output=True, text=True)


def follow(log: Path, *words: str | Path, **variables: str) -> bool:
    """Run a program in the project's folder; write what it says to a file at once, and tell whether it succeeded."""
    with log.open("a", encoding="utf-8") as file:
        command = [str(word) for word in words]
        done = subprocess.run(command, cwd=ROOT, env=environment(**variables), stdout=file, stderr=subprocess.STDOUT)
    return done.returncode == 0


def interpreter(version: str) -> Path | None:
    """Return the Python of this version on the path, or of pyenv; None if there is none that runs."""
    candidates: list[str | Path] = [f"python{version}"]
    if shutil.which("pyenv"):
        found = [line.strip() for line in call("pyenv", "versions", "--bare").stdout.splitlines()]
        numbers = [line for line in found if re.fullmatch(rf"{re.escape(version)}\.\d+", line)]
        newest = sorted(numbers, key=lambda number: int(number.rpartition(".")[2]))[-1:]
        candidates += [Path(call("pyenv", "prefix", number).stdout.strip(), "bin", "python") for number in newest]
    for candidate in candidates:
        if shutil.which(candidate):
            answer = call(candidate, "-c", "import sys; print(sys.version.split('.')[:2], sys.executable, sep='|')")
            if answer.returncode == 0 and answer.stdout.startswith(str(version.split("."))):
                return Path(answer.stdout.strip().partition("|")[2])
    return None


def uv(*words: str | Path) -> None:
    """Run uv; end with what it says if it fails."""
    answer = call(sys.executable, "-m", "uv", *words)
    if answer.returncode:
        raise RuntimeError(answer.stderr.strip())


def install(python: Path, packages: str, wheel: Path, folder: Path) -> Path:
    """Make an environment and return its Python."""
    shutil.rmtree(folder, ignore_errors=True)
    uv("venv", "--quiet", "--python", python, folder)
    inside = folder / ("Scripts/python.exe" if os.name == "nt" else "bin/python")
    listed = folder / "requirements.txt"
    resolution = ("--resolution", "highest" if packages == "newest" else "lowest-direct")
    wheels = ("--only-binary", ":all:")
    uv("pip", "compile", "--quiet", "--python", inside, *resolution, *wheels, "--extra", "test", "-o", listed,
       "pyproject.toml")  # fmt: skip
    uv("pip", "install", "--quiet", "--python", inside, *wheels, "-r", listed)
    uv("pip", "install", "--quiet", "--python", inside, "--no-deps", wheel)
    return inside


def run_tests(python: Path, packages: str, form: str, wanted: list[str], log: Path) -> tuple[bool, str]:
    """Run the tests; return whether all passed, and a summary. All that was said is in `log`."""
    pytest: tuple[str | Path, ...] = (python, "-m", "pytest", "-q")
    if packages == "oldest":  # they are warned of, and warn of, what came after them
        quiet = ("DeprecationWarning", "PendingDeprecationWarning", "FutureWarning")
        pytest += tuple(f"-Wignore::{kind}" for kind in quiet)
    if form == "short":
        files = [f"tests/{name}.py" for name in FAST]
        left_out = [f"--deselect=tests/{name}" for name in SLOW]
        passed = follow(log, *pytest, *left_out, *files, NUMBA_DISABLE_JIT="1")
    elif form == "plain":
        several = ("-n", "2", "--dist", "loadgroup", "-m", "plain and not long")
        passed = follow(log, *pytest, *several, *(wanted or ["tests"]), NUMBA_DISABLE_JIT="1")
    else:
        passed = follow(log, *pytest, "-n", "2", "--dist", "loadgroup", *(wanted or ["tests"]))
    lines = log.read_text(encoding="utf-8").splitlines()
    summary = next((line.strip("= ") for line in reversed(lines) if " in " in line), "no tests ran")
    if passed and form == "short":
        passed = follow(log, python, "-m", "copartition.cli", *SMOKE)
        passed = passed and "largest_clusters" in log.read_text(encoding="utf-8")
        summary += f"; compiled: {'works' if passed else 'fails'}"
    return passed, summary


def try_one(found: dict[str, Path], outcome: Outcome, form: str, wanted: list[str], wheel: Path, folder: Path) -> None:
    """Install, test, and write down what came of it."""
    begin = time.monotonic()
    try:
        python = install(found[outcome.python], outcome.packages, wheel, folder)
    except RuntimeError as error:
        outcome.result = f"not installed: {' '.join(str(error).split())[:200]}"
        print(error)
        return
    program = f"from importlib.metadata import version as v; print(*[n + ' ' + v(n) for n in {SHOWN}], sep=', ')"
    outcome.versions = call(python, "-c", program).stdout.strip()
    log = folder / "tests.log"
    outcome.passed, outcome.result = run_tests(python, outcome.packages, form, wanted, log)
    outcome.seconds = time.monotonic() - begin
    if not outcome.passed:
        print(log.read_text(encoding="utf-8"))


def chosen(pythons: list[str], packages: list[str], form: str) -> list[tuple[str, str]]:
    """Return what is tested: all, or in the short form the oldest packages on the oldest Python, else the newest."""
    if form != "short" or len(pythons) == 1:
        return [(python, one) for python in pythons for one in packages]
    return [(python, "oldest" if python == pythons[0] else "newest") for python in pythons]


def main() -> int:
    """Do all that was asked for; return 0 if everything passed."""
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    forms = parser.add_mutually_exclusive_group()
    forms.add_argument("--short", action="store_true", help="a few fast tests and one compiled run, in two minutes")
    forms.add_argument("--plain", action="store_true", help="with kernels in plain Python, where these are fast enough")
    parser.add_argument("--python", action="append", choices=PYTHONS, help="only this one; may be given several times")
    parser.add_argument("--packages", action="append", choices=PACKAGES, help="only these")
    parser.add_argument("tests", nargs="*", help="files of tests, in place of all")
    asked = parser.parse_args()
    form = "short" if asked.short else "plain" if asked.plain else "full"
    folder = ROOT / "out" / "versions"
    folder.mkdir(parents=True, exist_ok=True)
    found = {version: python for version in asked.python or PYTHONS if (python := interpreter(version)) is not None}
    for version in asked.python or PYTHONS:
        if version not in found:
            print(f"Python {version} is skipped: neither python{version} nor pyenv has it.")
    if not found:
        print("No Python was found, so nothing was tested.")
        return 1
    shutil.rmtree(folder / "wheel", ignore_errors=True)
    uv("build", "--quiet", "--wheel", "--out-dir", folder / "wheel")
    (wheel,) = (folder / "wheel").glob("*.whl")
    outcomes = []
    for version, packages in chosen(list(found), asked.packages or list(PACKAGES), form):
        print(f"Python {version}, {packages} packages ...", flush=True)
        outcomes.append(Outcome(version, packages))
        try_one(found, outcomes[-1], form, asked.tests, wheel, folder / f"{version}-{packages}")
    print(f"\n{'Python':<7} {'packages':<9} {'':<6} {'seconds':>7}  tests")
    for one in outcomes:
        print(f"{one.python:<7} {one.packages:<9} {'passed' if one.passed else 'FAILED'} {one.seconds:>7.0f}  "
              f"{one.result} ({one.versions})")  # fmt: skip
    return 0 if all(one.passed for one in outcomes) else 1


if __name__ == "__main__":
    sys.exit(main())
