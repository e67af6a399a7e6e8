"""``python -m reproduction``."""

from reproduction.command import main

main(prog_name="python -m reproduction")
