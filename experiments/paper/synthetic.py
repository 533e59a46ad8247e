"""Section 4.1: the synthetic DAG with a known covariance."""

from collections.abc import Mapping
from typing import TYPE_CHECKING

import numpy as np

from dagsearch.methods import PRESETS
from dagsearch.problems import Synthetic
from experiments.harness.curves import best_rewards, best_setting
from experiments.harness.drawing import draw_curves, figure
from experiments.harness.runner import Outcome, Row, run_rounds
from experiments.paper.methods import SHOWN, SYNTHETIC, Make

if TYPE_CHECKING:
    from matplotlib.figure import Figure


def run(quick: bool, jobs: int) -> Outcome:
    """Best reward so far, every method with every β on the same problems."""
    rounds, steps = (4, 40) if quick else (100, 300)
    betas = (0.1, 1.0) if quick else (0.01, 0.1, 1.0, 2.0**0.5, 10.0)
    tasks = [(m, beta, number, steps) for m in SYNTHETIC for number in range(rounds) for beta in betas]
    rows = run_rounds(one_round, tasks, jobs)
    for number in range(rounds):
        rows.append(Row("maximum", "", number, 0, Synthetic(seed=number).best_reward))
    about = {"settings": {"rounds": rounds, "steps": steps, "betas": betas}}
    about["noise"] = PRESETS["synthetic"]["noise"]
    return Outcome("synthetic", rows, about, {"synthetic": draw(rows)})


def one_round(
    method: str, beta: float, number: int, steps: int, methods: Mapping[str, Make] = SYNTHETIC
) -> list[Row]:
    """One search on one draw of the problem."""
    search = methods[method](Synthetic(seed=number), number, beta)
    search.run(steps)
    return best_rewards(search.history, method, f"beta={beta:.4g}", number, growth=1.3)


def draw(rows: list[Row]) -> "Figure":
    """Every method with its best β, and the maximum."""
    drawn = figure()
    axes = drawn.subplots()
    # The problems' maxima differ far more than the methods, so the band shows the distance to the maximum.
    maxima = {row.round: row.value for row in rows if row.method == "maximum"}
    mean = float(np.mean(list(maxima.values())))
    shown = [row for row in rows if row.method in SHOWN]
    centred = [row._replace(value=row.value - maxima[row.round] + mean) for row in shown]
    draw_curves(axes, best_setting(centred))
    axes.axhline(mean, color="black", linestyle=":", label="maximum")
    axes.set(ylabel="best reward so far", title="synthetic DAG: 5 of 15", xscale="log", xlim=(1, None))
    axes.legend(fontsize="small", loc="lower right")
    return drawn
