"""OpenSpiel's board games as problems, and players that search them."""

from dagsearch.games.openspiel import OpenSpielGame, Position

__all__ = ["OpenSpielGame", "Position"]
