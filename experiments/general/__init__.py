"""``python -m experiments benchmark general``: every kind of choice, against methods for any kind."""

from experiments.general import page
from experiments.general.methods import METHODS
from experiments.general.problems import TASKS
from experiments.general.suite import Suite
from experiments.harness.runner import Outcome

SUITE = Suite("general", METHODS, TASKS, 8, page.figures)
run = SUITE.run


def summary(outcome: Outcome) -> str:
    """The most important tables."""
    return page.summary(page.Measures(outcome.rows))
