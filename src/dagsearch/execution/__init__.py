"""Where and how long rewards are computed."""
