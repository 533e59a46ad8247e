"""The parts that a search is made of, and how they are composed."""
