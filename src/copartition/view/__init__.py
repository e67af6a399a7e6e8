"""What a person looks at, and what other programs read: plots, a page, displays in notebooks, exports."""

from copartition.display import show_with
from copartition.view import plots
from copartition.view.notebook import html_of
from copartition.view.plots.natural import drawn
from copartition.view.report import write_report

show_with(html_of, drawn)

__all__ = ["plots", "write_report"]
