"""How often what the library states is true, on problems whose truth is known: ``docs/truth.md``."""
