"""The methods of the paper's experiments, and alternatives to choices that the paper leaves open."""

from collections.abc import Callable
from typing import Any

from dagsearch import baselines
from dagsearch.methods import PRESETS
from dagsearch.proposers.expansions import OneChild
from dagsearch.search import Search
from dagsearch.values.backups import MomentMatching, Softmax
from experiments.paper.ablations import RandomChild, with_leaf_bonus

Make = Callable[..., Search]
"""``make(problem, seed)`` or, with another β than the preset's, ``make(problem, seed, beta)``."""
OURS = "probabilistic DAG"
SHOWN = (OURS, f"{OURS}, softmax", "probabilistic tree", "UCT", "UCD", "UCT-RAVE", "random")
"""The methods of the paper's figures."""
SOFTMAX_NOISE = 0.001  # of Tic-Tac-Toe
_STEP = 1.0 / 6.0  # variance per step of the true covariance of the synthetic DAG, 1/(m + 1)
_PRIOR = (0.0, 1.0)


def paper(preset: str, **fixed: Any) -> Make:
    """The paper's method with some settings of its own; a function makes its part for each seed."""

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
