"""Real problems, solved with real components: ``python -m experiments gallery`` lists them."""
