"""The paper's experiments, one module each, and the runner they share: ``dagsearch reproduce``."""
