"""Runs that survive crashes: the journal, and how a search is restored from it."""
