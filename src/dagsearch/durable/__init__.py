"""Runs that survive: the journal, and how a search is made again from it."""
