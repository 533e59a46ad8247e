"""Commands that ``dagsearch`` gets from this package, by entry points."""
