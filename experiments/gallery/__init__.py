"""Real problems, solved on real systems: ``python -m experiments gallery`` lists them."""
