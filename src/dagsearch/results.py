"""What a search hands out."""

import importlib
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from dagsearch.gaussians import Gaussian
from dagsearch.problem import Action, State

if TYPE_CHECKING:
    import pandas


@dataclass(frozen=True)
class Proposal:
    """A leaf that the search wants evaluated."""

    leaf: State
    """The state to evaluate."""
    actions: tuple[Action, ...]
    """The decisions that lead from the root to the leaf."""
    path: tuple[int, ...] = field(default=(), repr=False)
    """Nodes of the explored DAG that the descent came through."""


@dataclass(frozen=True)
class Belief:
    """What the search believes of a state, in units of the reward."""

    g: Gaussian
    """Generative score: what random play from here earns."""
    v: Gaussian
    """Optimal value: what best play from here earns."""
    visits: int
    """How many descents came through; 0 off the explored part."""


@dataclass(frozen=True)
class Line:
    """A path from the root to a leaf."""

    states: tuple[State, ...]
    """The states on the way, root and leaf included."""
    actions: tuple[Action, ...]
    """The decisions between them."""
    explored: int
    """How many of the decisions lie in the explored DAG; the rest follow the scores g."""


@dataclass(frozen=True)
class Evaluation:
    """One reward that the search was told."""

    step: int
    """Number of the evaluation, from 1."""
    leaf: State
    """The evaluated state."""
    actions: tuple[Action, ...] | None
    """The decisions that led there; ``None`` if the leaf was told without having been asked for."""
    reward: float
    """The reward as told."""
    best_reward: float
    """The largest reward so far, this one included."""
    seconds: float = field(compare=False)
    """When it was told, in seconds from the start of the search."""


@dataclass(frozen=True)
class Result:
    """What the search found.

    Where everyone maximises, the best leaf is the evaluated one with the largest reward, or with the best
    mean g if the search learns the rewards' noise; ``best_reward`` is then the mean of its rewards. In a
    problem with MIN nodes it is the end of the recommended line, and ``best_reward`` is ``None`` unless that
    very leaf was evaluated.
    """

    best_state: State
    """The best leaf; ``None`` if nothing was evaluated."""
    best_path: tuple[Action, ...] | None
    """The decisions that lead there; ``None`` if the leaf was told without having been asked for."""
    best_reward: float | None
    """Its reward."""
    value: Gaussian
    """Belief over the best reward there is, in units of the reward."""
    probability_best: float | None
    """That no other leaf is better than the best one; ``None`` if nothing is known, or MIN decides."""
    stopped: str | None = field(compare=False)
    """Why the last run ended: ``"budget"``, ``"exhausted"``, ``"target"``, ``"patience"``, ``"seconds"`` or
    ``"confidence"``; ``None`` if there was none."""
    history: tuple[Evaluation, ...] = field(repr=False)
    """Every evaluation, in the order told."""

    def _repr_html_(self) -> str:
        from dagsearch.selection.page import result_fragment

        return result_fragment(self)

    def to_frame(self) -> "pandas.DataFrame":
        """The history as a pandas data frame, one row per evaluation."""
        try:
            pandas = importlib.import_module("pandas")
        except ModuleNotFoundError as error:
            raise ModuleNotFoundError(
                "Result.to_frame needs pandas: pip install 'dagsearch[pandas]'"
            ) from error
        columns: Sequence[str] = ("step", "reward", "best_reward", "seconds", "leaf", "actions")
        rows = [[getattr(evaluation, name) for name in columns] for evaluation in self.history]
        return pandas.DataFrame(rows, columns=list(columns))  # type: ignore[no-any-return]
