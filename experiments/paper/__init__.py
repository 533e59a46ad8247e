"""The experiments of the paper, one module each; ``python -m experiments reproduce`` runs one by name."""
