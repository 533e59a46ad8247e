"""``python -m experiments truth``: what the library states, compared with what is true on other data."""
