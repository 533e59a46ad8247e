"""The methods of the paper's experiments, and alternatives where the paper leaves choices open."""

import math
from collections.abc import Callable
from typing import Any

import numpy as np

from dagsearch import baselines
from dagsearch._internal.typing import FloatArray, IntArray
from dagsearch.baselines import UCB1, Averages
from dagsearch.methods import PRESETS
from dagsearch.proposers.expansions import OneChild, Options
from dagsearch.search import Search
from dagsearch.values.backups import MomentMatching, Softmax
from dagsearch.values.explored import Explored

Make = Callable[..., Search]
"""``make(problem, seed)`` or, with another β than the preset's, ``make(problem, seed, beta)``."""
OURS = "probabilistic DAG"
SHOWN = (OURS, f"{OURS}, softmax", "probabilistic tree", "UCT", "UCD", "UCT-RAVE", "random")
"""The methods of the paper's figures."""
SOFTMAX_NOISE = 0.001  # for Tic-Tac-Toe
_STEP = 1.0 / 6.0  # variance per step of the true covariance of the synthetic DAG, 1/(m + 1)
_PRIOR = (0.0, 1.0)


# Alternatives ------------------------------------------------------------------------------------------


class RandomChild(OneChild):
    """Children enter one at a time; the descent sees the children in the DAG and one option for all others.

    That option is the back-up's summary variable; choosing it adds a child uniformly at random. With
    ``OneChild`` the descent sees every child instead.
    """

    def __init__(self, seed: int) -> None:
        self._rng = np.random.default_rng(seed)

    def options(self, explored: Explored, node: int) -> Options | None:
        """The children in the DAG, then the summary; ``None`` at a leaf."""
        graph = explored.graph
        if graph.terminal[node]:
            return None
        edges = graph.edges(node)
        actions, children = graph.edge_action[edges], graph.children(node)
        missing = np.setdiff1d(np.arange(graph.branching[node]), actions)
        if missing.size > 0:
            actions, children = np.append(actions, self._rng.choice(missing)), np.append(children, -1)
        return _WithSummary(explored, node, actions, children, missing.size)

    def __repr__(self) -> str:
        return "RandomChild()"


class _WithSummary(Options):
    def __init__(
        self, explored: Explored, node: int, actions: IntArray, children: IntArray, missing: int
    ) -> None:
        super().__init__(explored, node, actions, children)
        self._missing = missing

    def _values(self) -> tuple[FloatArray, FloatArray]:
        explored, graph = self.explored, self.explored.graph
        mean, variance = graph.v_mean[self.children], graph.v_var[self.children]
        if self._missing > 0:
            increments, level = explored.increments, int(graph.level[self.node])
            increments.widen(self._missing)
            mean[-1] = explored.scores.mean[self.node] + increments.mean_table[level, self._missing]
            variance[-1] = explored.scores.variance[self.node] + increments.var_table[level, self._missing]
        return mean, variance


class LeafBonus(UCB1):
    """:class:`UCB1` with a bonus for leaves, too."""

    def rate(self, options: Options) -> FloatArray:
        """The bound of every option; infinite for options without rewards."""
        number, mean = self._averages.of(options, options.children)
        visits = max(1.0, float(self._averages.count[options.node]))
        bonus = self.c * np.sqrt(math.log(visits) / np.maximum(number, 1.0))
        return np.where(number > 0.0, mean + bonus, np.inf)


def with_leaf_bonus(search: Search) -> Search:
    """A UCT or UCD search that explores leaves like any other option."""
    descent, backup = search.portfolio.descent, search.values.backup
    assert descent is not None
    assert isinstance(descent.policy, UCB1)
    assert isinstance(backup, Averages)
    descent.policy = LeafBonus(backup, descent.policy.c)
    return search


# Methods -----------------------------------------------------------------------------------------------


def paper(preset: str, **fixed: Any) -> Make:
    """The paper's method with some settings changed; a function makes its part for each seed."""

    def make(problem: Any, seed: int, beta: float | None = None) -> Search:
        settings = {name: part(seed) if callable(part) else part for name, part in fixed.items()}
        if beta is not None:
            settings["beta"] = beta
        return Search.paper(problem, preset=preset, seed=seed, **settings)

    return make


def _of(preset: str, c: float, softmax: dict[str, Any], initial: dict[str, int]) -> dict[str, Make]:
    """The paper's five methods."""
    noise, preset_beta = PRESETS[preset]["noise"], PRESETS[preset]["beta"]

    def tree(problem: Any, seed: int, beta: float = preset_beta) -> Search:
        return baselines.probabilistic_tree(problem, c=c, noise=noise, beta=beta, seed=seed, **initial)

    def uct(problem: Any, seed: int, beta: float = preset_beta) -> Search:
        return baselines.uct(problem, c=beta, seed=seed, **initial)

    def ucd(problem: Any, seed: int, beta: float = preset_beta) -> Search:
        return baselines.ucd(problem, c=beta, seed=seed, **initial)

    return {
        OURS: paper(preset),
        f"{OURS}, softmax": paper(preset, backup=lambda _: Softmax(), **softmax),
        "probabilistic tree": tree,
        "UCT": uct,
        "UCD": ucd,
    }


SYNTHETIC: dict[str, Make] = {
    **_of("synthetic", _STEP, {}, {}),
    f"{OURS}, no prior": paper("synthetic", backup=lambda _: MomentMatching()),
    f"{OURS}, prior on increments too": paper("synthetic", increment_prior=_PRIOR),
    f"{OURS}, one child at a time": paper("synthetic", expansion=lambda _: OneChild()),
    f"{OURS}, summary adds a random child": paper(
        "synthetic", backup=lambda _: MomentMatching(), expansion=RandomChild
    ),
}
_GAME = _of("tictactoe", PRESETS["tictactoe"]["c"], {"noise": SOFTMAX_NOISE}, {})
TICTACTOE: dict[str, Make] = {
    **_GAME,
    **{
        f"{name}, bonus for leaves too": lambda game, seed, make=_GAME[name]: with_leaf_bonus(
            make(game, seed)
        )
        for name in ("UCT", "UCD")
    },
    f"{OURS}, no prior": paper("tictactoe", backup=lambda _: MomentMatching()),
    f"{OURS}, prior on increments too": paper("tictactoe", increment_prior=_PRIOR),
    f"{OURS}, steps of variance c": paper("tictactoe", step_variance=PRESETS["tictactoe"]["c"]),
}
PIXELS: dict[str, Make] = {
    **_of("mnist", PRESETS["mnist"]["c"], {}, {"standardize": PRESETS["mnist"]["standardize"]}),
    "UCT-RAVE": lambda problem, seed: baselines.uct_rave(problem, seed=seed),
    "random": lambda problem, seed: baselines.random_search(problem, seed=seed),
    f"{OURS}, prior on the maximum": paper("mnist", backup=lambda _: MomentMatching(_PRIOR)),
    f"{OURS}, prior on maximum and increments": paper(
        "mnist", backup=lambda _: MomentMatching(_PRIOR), increment_prior=_PRIOR
    ),
    f"{OURS}, prior on increments": paper("mnist", increment_prior=_PRIOR),
    f"{OURS}, summary adds a random child": paper("mnist", expansion=RandomChild),
}
