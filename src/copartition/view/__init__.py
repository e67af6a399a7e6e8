"""What a person looks at, and what other programs read: plots, a page, exports."""

from copartition.view import plots
from copartition.view.report import write_report

__all__ = ["plots", "write_report"]
