"""Your own covariance: knowledge about the choices makes every reward more informative.

A reaction needs a solvent, a base and a temperature. By default two recipes are similar if they share one of
these. But solvents of similar polarity give similar yields. It prints:

    shared choices  after 25 of 960 evaluations, mean of 5 searches: 88.7
    own covariance  after 25 of 960 evaluations, mean of 5 searches: 89.4
"""

import numpy as np

import dagsearch as ds

POLARITY = dict(
    zip("ABCDEFGHIJKL", (0.1, 0.2, 0.25, 0.3, 0.4, 0.45, 0.5, 0.6, 0.65, 0.8, 0.9, 1.0), strict=True)
)
STRENGTH = dict(zip("abcdefgh", (5.0, 7.0, 9.0, 10.0, 12.0, 14.0, 16.0, 25.0), strict=True))
SCALES = (POLARITY, STRENGTH, {heat: heat for heat in range(20, 120, 10)})


class Reaction:  # decides one ingredient after the other
    def root(self):
        return ()

    def actions(self, state):
        return list(SCALES[len(state)]) if len(state) < 3 else []

    def step(self, state, choice):
        return (*state, choice)

    def reward(self, leaf):  # the yield in per cent: a day in the laboratory
        polarity, strength, heat = (scale[choice] for scale, choice in zip(SCALES, leaf, strict=True))
        fit = 0.4 * (strength - 13) ** 2 + 0.02 * (heat - 40 - 50 * polarity) ** 2
        return 90 - 150 * (polarity - 0.47) ** 2 - fit


class Recipes(ds.covariances.Covariance):  # near numbers are similar
    private = 0.01
    means = np.array([np.mean(list(scale.values())) for scale in SCALES])
    deviations = np.array([np.std(list(scale.values())) for scale in SCALES])

    def represent(self, states):
        # One row per state, with average values for undecided choices.
        rows = np.tile(self.means, (len(states), 1))
        for row, state in zip(rows, states, strict=True):
            row[: len(state)] = [scale[choice] for scale, choice in zip(SCALES, state, strict=False)]
        return (rows - self.means) / self.deviations

    def cross(self, rows, others):
        # A linear trend, and a remainder that falls off with the distance.
        return 1.0 + 0.3 * rows @ others.T + np.exp(-((rows[:, None] - others) ** 2).sum(axis=2) / 8.0)


ds.covariances.check_covariance(Recipes(), [(), ("A",), ("A", "a"), ("A", "a", 20), ("F", "e", 60)])
for name, covariance in (("shared choices", None), ("own covariance", Recipes())):
    found = [
        ds.search(Reaction(), budget=25, covariance=covariance, seed=seed).best_reward for seed in range(5)
    ]
    print(f"{name:15} after 25 of 960 evaluations, mean of 5 searches: {sum(found) / 5:.1f}")
