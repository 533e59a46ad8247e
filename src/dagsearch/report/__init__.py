"""Pages that show a search: live while it runs, or frozen in one file."""

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from dagsearch.report.report import Report

__all__ = ["Report"]


def __getattr__(name: str) -> Any:
    """The report, imported when it is needed: forecasts do not need it."""
    if name == "Report":
        from dagsearch.report.report import Report

        return Report
    raise AttributeError(f"module 'dagsearch.report' has no attribute {name!r}")
