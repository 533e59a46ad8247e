"""Runs in a database: the log of events, what can be read from it, and how a search is restored."""
