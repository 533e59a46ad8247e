"""Real problems, solved with real components: ``dagsearch gallery`` lists them."""
