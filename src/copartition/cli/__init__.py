"""The command line: ``copartition cluster``, and ``estimate | ask | report | export | compare | tune | meet | ...``."""

from __future__ import annotations

import click

import copartition as cp
from copartition.cli.cluster import cluster
from copartition.cli.compare import compare
from copartition.cli.estimate import ask, estimate
from copartition.cli.meet import meet, tune
from copartition.cli.results import export, report


class InOrder(click.Group):
    """Commands in the order in which a person needs them."""

    def list_commands(self, ctx: click.Context) -> list[str]:
        """Return the names of the commands, as they were added."""
        return list(self.commands)


@click.group(cls=InOrder, context_settings={"help_option_names": ["-h", "--help"]})
@click.version_option(cp.__version__, prog_name="copartition")
def main() -> None:
    """Find the clusters of a table or a network, how many there are, and how sure that is.

    First try: copartition cluster --example faithful
    """


for command in (cluster, estimate, ask, report, export, compare, tune, meet):
    main.add_command(command)
