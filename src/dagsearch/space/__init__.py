"""The problem, examined once."""
