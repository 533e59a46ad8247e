"""Board games of OpenSpiel: as problems, with covariances, players and a terminal interface."""
