"""The command line: ``copartition estimate | ask | meet | tune | compare | report | export | paper | cells``."""

from __future__ import annotations

import click

import copartition as cp
from copartition.cli.asking import ask
from copartition.cli.compare import compare
from copartition.cli.estimate import estimate
from copartition.cli.meet import meet
from copartition.cli.paper import cells, paper
from copartition.cli.results import export, report
from copartition.cli.tune import tune


@click.group(context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(cp.__version__, prog_name="copartition")
def main() -> None:
    """Unbiased posterior expectations over clusterings."""


for command in (estimate, ask, meet, tune, compare, report, export, paper, cells):
    main.add_command(command)
