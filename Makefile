# make install   set up .venv with the package and all that tests and benchmarks use
# make test      formatter check, linter, type checker, all tests, and coverage of the kernels in plain Python
# make test-long the statistical tests that take longer, whose smaller versions are in make test; writes docs/evidence.md
# make docs      the documentation site into out/docs, its tutorials and gallery executed, links and pages tested
# make run       the main job: every figure of the paper into out/paper, with a page, in five minutes or less
# make evidence  statistical evidence that takes longer than tests may, written to pages in docs/
# make bench     speed, as ratios within one run, written to benchmarks/RESULTS.md
# make test-versions  the tests on every Python that is found (3.11 to 3.13), with the oldest and the newest packages;
#                SHORT=1: a few fast ones; PLAIN=1: those marked plain, as plain Python
# make package   wheel and sdist, what checkers say of them, and the first command with the wheel and nothing else
# make format    let ruff format and fix what it can

PYTHON ?= python3
BIN := .venv/bin
READY := .venv/.ready
MATHJAX := out/npm/node_modules/mathjax/es5/tex-svg.js
# The RNA-seq data of Figure 2B are not part of the project; without them cells are simulated, and the page says so.
CELLS ?= $(wildcard ../shared/data/zeisel_200x50.csv)
# uv and npm bring certificates of their own; those of the system are what pip and everybody else trusts.
export UV_SYSTEM_CERTS ?= 1
export NODE_EXTRA_CA_CERTS ?= $(wildcard /etc/ssl/certs/ca-certificates.crt)

.PHONY: install test test-long test-versions package lint check docs run evidence bench format clean

install: $(READY)

$(READY): pyproject.toml constraints.txt
	$(PYTHON) -m venv .venv
	$(BIN)/python -m pip install --quiet --constraint constraints.txt --editable ".[dev]"
	touch $(READY)

test: lint check

lint: $(READY)
	$(BIN)/ruff format --check .
	$(BIN)/ruff check .
	$(BIN)/mypy
	$(BIN)/lint-imports

# Every test runs once, compiled and under coverage. Compiled code is invisible to coverage, so those that are marked
# `plain` run a second time with the kernels as plain Python.
check: $(READY)
	rm -f .coverage .coverage.*
	$(BIN)/coverage run -m pytest -n 2 --dist loadgroup
	NUMBA_DISABLE_JIT=1 $(BIN)/coverage run -m pytest -q -n 2 --dist loadgroup -m "plain and not long" tests
	$(BIN)/coverage combine --quiet
	$(BIN)/coverage report

test-long: $(READY)
	$(BIN)/python tools/long_tests.py

docs: $(READY) $(MATHJAX)
	rm -rf out/docs docs/gallery docs/api/generated
	$(BIN)/sphinx-build -q -W --keep-going -d out/docs-build/doctrees docs out/docs
	$(BIN)/pytest -q tests/documentation_site.py

# Mathematics without a network: MathJax goes into the site itself.
$(MATHJAX): docs/package.json
	mkdir -p out/npm
	cp docs/package.json out/npm
	npm install --prefix out/npm --no-package-lock --no-audit --no-fund --silent
	touch $(MATHJAX)

run: $(READY)
	$(BIN)/python -m reproduction all --out out/paper $(if $(CELLS),--cells $(CELLS))

evidence: $(READY)
	$(BIN)/python evidence/run.py
	$(BIN)/python evidence/sensitivity.py
	$(BIN)/python evidence/tables.py

bench: $(READY)
	$(BIN)/python benchmarks/run.py

test-versions: $(READY)
	$(BIN)/python tools/versions.py $(if $(SHORT),--short) $(if $(PLAIN),--plain)

# What pyroma misses (8 of 10) is an address of the project and of its authors: there is none yet.
package: $(READY)
	rm -rf out/dist out/alone
	$(BIN)/python -m build --quiet --installer uv --outdir out/dist
	$(BIN)/python tools/machine_code.py out/dist/*.whl
	$(BIN)/twine check --strict out/dist/*
	$(BIN)/check-wheel-contents out/dist/*.whl
	$(BIN)/pyroma --min 8 out/dist/*.tar.gz
	$(BIN)/repo-review .
	$(BIN)/uv venv --quiet --python $(BIN)/python out/alone
	$(BIN)/uv pip install --quiet --python out/alone out/dist/*.whl
	XDG_CACHE_HOME=$(CURDIR)/out/alone/cache out/alone/bin/copartition cluster --example faithful \
		2> out/alone/said | grep "^UNBIASED"
	! grep compiling out/alone/said  # the machine code came with the wheel

format: $(READY)
	$(BIN)/ruff format .
	$(BIN)/ruff check --fix .

clean:
	rm -rf .venv .coverage* out
