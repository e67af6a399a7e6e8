"""Lets ``python -m copartition.cli`` be the command line."""

from copartition.cli import main

main()
