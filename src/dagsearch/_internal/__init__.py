"""Helpers that no user needs."""
