"""Oracles that several tests share."""

from collections.abc import Callable
from functools import cache
from typing import Any

import pytest

from dagsearch.problem import Problem, player_at


def minimax_of(problem: Problem) -> Callable[[Any], float]:
    """Value of every state under best play, by brute force."""

    @cache
    def value(state: Any) -> float:
        children = [value(problem.step(state, action)) for action in problem.actions(state)]
        if not children:
            return problem.reward(state)
        return max(children) if player_at(problem, state) > 0 else min(children)

    return value


@pytest.fixture(scope="session")
def minimax() -> Callable[[Problem], Callable[[Any], float]]:
    return minimax_of


def pytest_addoption(parser: pytest.Parser) -> None:
    parser.addoption("--long", action="store_true", help="run tests marked long at their full length")


@pytest.fixture
def long(request: pytest.FixtureRequest) -> bool:
    """Whether a test marked long is to run at its full length; otherwise it runs shortened."""
    return bool(request.config.getoption("--long"))
