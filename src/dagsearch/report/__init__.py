"""Pages that show a search: live while it runs, or frozen in one file."""
