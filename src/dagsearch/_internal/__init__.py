"""Private helpers."""
