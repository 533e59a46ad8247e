"""Pages that show a search: live while it runs, or frozen in one file."""

from dagsearch.report.report import Report

__all__ = ["Report"]
