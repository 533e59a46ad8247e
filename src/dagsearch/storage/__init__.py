"""Runs in a database: the log of every event, what it tells, and how a search is restored from it."""
