"""Proposals, evaluations, beliefs and the result of a search."""

from dataclasses import dataclass, field
from typing import TYPE_CHECKING, Any, NamedTuple

from dagsearch._internal.wiring import wiring
from dagsearch.problem import Action, Edge, State

if TYPE_CHECKING:
    import pandas
    from matplotlib.figure import Figure

    from dagsearch.report.report import Report


class Gaussian(NamedTuple):
    """A univariate Gaussian; unpacks as ``(mean, variance)``."""

    mean: float
    """Its mean."""
    variance: float
    """Its variance, not the standard deviation."""


@dataclass(frozen=True)
class Proposal:
    """A leaf that the search wants evaluated."""

    leaf: State
    """The state to evaluate."""
    actions: tuple[Action, ...]
    """The decisions that lead from the root to the leaf."""
    path: tuple[int, ...] = field(default=(), repr=False)
    """Nodes of the explored DAG on the path of the descent."""
    cost: float = field(default=1.0, compare=False, repr=False)
    """Cost of the evaluation, in units of the budget."""
    number: int = field(default=-1, compare=False, repr=False)
    """Number of the event that asked for it; −1 if there is none."""
    part: int | None = field(default=None, compare=False, repr=False)
    """Number of the part of the search that asked for it; ``None`` if a user chose the leaf."""


@dataclass(frozen=True)
class StepProposal(Proposal):
    """A costly step that the search wants taken; its ``leaf`` is the pair of state and action."""

    leaf: Edge
    """The state and the action; :attr:`actions` ends with this action."""
    edge: int = field(default=-1, repr=False)
    """Number of the step in the search."""
    plan: tuple[int, ...] | None = field(default=None, compare=False, repr=False)
    """Numbers of the actions planned after it; ``None`` if it is not a step of a planned path."""
    drawn: bool = field(default=False, compare=False, repr=False)
    """Whether the action was drawn from an iterator for this proposal."""
    exhausted: tuple[int, ...] = field(default=(), compare=False, repr=False)
    """Numbers of steps whose iterators turned out to have no more actions."""

    @property
    def state(self) -> State:
        """Where the step begins."""
        return self.leaf.state

    @property
    def action(self) -> Action:
        """The next action."""
        return self.leaf.action


@dataclass(frozen=True)
class Belief:
    """The belief about a state, in units of the reward."""

    g: Gaussian
    """Generative score: the reward of random play from here."""
    v: Gaussian | None
    """Optimal value: the reward of optimal play from here. At a leaf it is g; elsewhere it is known only to
    searches that descend, and ``None`` in others."""
    visits: int
    """Number of descents through the state; 0 outside the explored part."""


@dataclass(frozen=True)
class Line:
    """A path from the root to a leaf."""

    states: tuple[State, ...]
    """The states on the path, including root and leaf."""
    actions: tuple[Action, ...]
    """The decisions between them."""
    explored: int
    """Number of decisions inside the explored DAG; the others follow the scores g."""


@dataclass(frozen=True)
class Evaluation:
    """One evaluation with its reward; with costly steps, one step."""

    step: int
    """Number of the evaluation, from 1."""
    leaf: State
    """The evaluated state; with costly steps, the state that was reached."""
    actions: tuple[Action, ...] | None
    """The decisions that lead there; ``None`` if the leaf was not asked for and the problem cannot derive
    them."""
    reward: float
    """The reward; with costly steps, that of the best known path through this step, or −inf until the path
    reaches a state with a value."""
    best_reward: float
    """The largest reward so far, this one included."""
    seconds: float = field(compare=False)
    """Time of the report, in seconds from the start of the search."""
    predicted: Gaussian | None = field(default=None, compare=False, repr=False)
    """Belief over the reward just before it was observed, noise included; ``None`` if the model knew no
    reward yet or learns only their mean."""
    row: int = field(default=-1, compare=False, repr=False)
    """Number of the leaf in the index of the search."""
    known: bool = field(default=False, repr=False)
    """Whether the reward was passed as known; it then does not count as an evaluation."""
    part: int = field(default=0, repr=False)
    """Part of the search that learns from it, counted from 0."""
    asked: bool = field(default=False, repr=False)
    """Whether that part asked for it."""


@dataclass(frozen=True)
class Result:
    """The result of a search.

    Without MIN nodes, the best leaf is the evaluated one with the largest reward. If the noise is learnt, it
    is the leaf with the largest mean g, and ``best_reward`` is its mean reward. With MIN nodes, it is the end
    of the recommended line, and ``best_reward`` is ``None`` unless that leaf was evaluated.
    """

    best_state: State
    """The best leaf; ``None`` if nothing was evaluated."""
    best_path: tuple[Action, ...] | None
    """The decisions that lead there; ``None`` if they are unknown, as in :class:`Evaluation`."""
    best_reward: float | None
    """The best leaf's reward."""
    value: Gaussian | None
    """Belief about the best possible reward, in units of the reward: the root's v. ``None`` before the first
    reward, and in searches that do not descend, which have no v."""
    probability_best: float | None
    """1 if every leaf was evaluated and no leaf is evaluated twice; else ``None``."""
    stopped: str | None = field(compare=False)
    """Why the last run ended: ``"budget"``, ``"exhausted"`` (every leaf was evaluated or has failed),
    ``"target"``, ``"patience"``, ``"seconds"``, ``"tolerance"``, ``"callback"``, ``"steered"``, after an
    exception ``"error"`` or, after Ctrl-C, ``"interrupted"``; ``None`` if there was no run."""
    history: tuple[Evaluation, ...] = field(repr=False)
    """Every evaluation, in the order reported."""
    covariance: str | None = field(default=None, repr=False)
    """The covariance of the search with its learnt hyperparameters; ``None`` without one."""
    r2: float | None = field(default=None, repr=False)
    """R² of the surrogate's predictions for the second half of the rewards: 1 is perfect, 0 no better than
    their mean. ``None`` without a surrogate or with too few rewards."""
    coverage: float | None = field(default=None, repr=False)
    """Share of the same rewards inside their predicted central 90 % intervals; ``None`` like ``r2``."""
    minimized: bool = field(default=False, repr=False)
    """Whether small rewards are good, as in a result of :func:`dagsearch.minimize`."""
    game: bool = field(default=False, repr=False)
    """Whether a MIN player decides somewhere."""
    steps: bool = field(default=False, repr=False)
    """Whether steps are costly, so that an evaluation is a step."""

    def _repr_html_(self) -> str:
        return self.report()._repr_html_()

    def report(self) -> "Report":
        """A page about the search: progress, forecast, importances, the best leaves.

        A notebook shows part of it; ``report().write("page.html")`` writes all of it to one file.
        """
        return wiring.report(self)  # type: ignore[no-any-return]

    def plot(self) -> "Figure":
        """Draw the search with matplotlib: ``result.plot().savefig("search.png")`` writes the figure.

        It shows the rewards, the best so far with a forecast, and the importance of items and choices. With
        few evaluations there is only the first panel.
        """
        return wiring.plot(self)  # type: ignore[no-any-return]

    def to_dicts(self) -> list[dict[str, Any]]:
        """The history as one dictionary per evaluation, all with the same keys.

        The keys are ``step``, ``reward``, ``best_reward``, ``seconds`` and ``known``, then those of the leaf:
        the value of each named choice, whether the set contains each item, or the item at each position;
        ``None`` if a leaf has no such choice or position. For costly steps they are the decisions so far. The
        last key, ``leaf``, is the leaf itself.
        """
        return wiring.rows(self)  # type: ignore[no-any-return]

    def to_frame(self) -> "pandas.DataFrame":
        """The history as a pandas data frame, with one row per evaluation and the columns of `to_dicts`.

        A choice that is ``None`` appears as ``None``; a choice that was not made appears as NaN.
        """
        return wiring.frame(self)  # type: ignore[no-any-return]
