"""``python -m experiments benchmark noise``: the recommendations of a search with noisy rewards.

Sixteen problems of the general benchmark, four of each of four kinds, all with noise of half the standard
deviation of random points' scores.
"""

from experiments.general.methods import METHODS, OURS
from experiments.general.problems import NOISY
from experiments.general.suite import SHARE, Suite
from experiments.harness import markdown
from experiments.harness.curves import OWN_MS, Mean
from experiments.harness.runner import Outcome

SUITE = Suite("noise", {OURS: METHODS[OURS]}, NOISY, 8)
run = SUITE.run


def summary(outcome: Outcome) -> str:
    """By kind: regret of the final recommendation, and the share of the most frequently evaluated point."""
    ends = {(row.setting, row.round): row for row in outcome.rows if not row.setting.endswith(OWN_MS)}
    lines = []
    for kind in dict.fromkeys(task.kind for task in NOISY.values()):
        rows = [row for row in ends.values() if NOISY[row.problem].kind == kind]
        shares = [row.value for row in rows if row.setting.endswith(SHARE)]
        regrets = [row.value for row in rows if row.setting == row.problem]
        if rows:
            lines.append([kind, Mean.of(regrets).shown(3), Mean.of(shares).shown(3)])
    return markdown.aligned(markdown.table(["problems", "regret", SHARE], lines))
