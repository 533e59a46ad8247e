"""How the model changes with data."""
