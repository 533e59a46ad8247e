"""How far the belief by landmarks is from the variational one of Titsias (2009), and both from the exact one.

``docs/method.md`` states the figures that ``pytest -s tests/equivalence/test_landmarks.py`` prints.
"""

import numpy as np
import pytest

from dagsearch.covariances import SetKernel
from dagsearch.posterior import FunctionScores
from dagsearch.posterior.landmarks import InducedScores, greedy_landmarks
from dagsearch.problems import Subsets

NOISE = 0.05


def variational(covariance, landmarks, rows, rewards, asked):
    """Titsias's optimal q(u), straight from the publication: mean and variance of g at the asked rows.

    With A = K_uu + K_uf K_fu / λ: mean = K_*u A⁻¹ K_uf y / λ, and the variance is
    k_** − k_*u K_uu⁻¹ k_u* + k_*u A⁻¹ k_u*.
    """
    others = covariance.prepared(landmarks)
    among = covariance.cross(landmarks, others)
    among[np.diag_indices(len(among))] += 1e-10 * among.diagonal().max()
    to_rewards, to_asked = covariance.cross(rows, others).T, covariance.cross(asked, others).T
    inner = among + to_rewards @ to_rewards.T / NOISE
    mean = to_asked.T @ np.linalg.solve(inner, to_rewards @ rewards) / NOISE
    lost = np.einsum("ij,ij->j", to_asked, np.linalg.solve(among, to_asked))
    kept = np.einsum("ij,ij->j", to_asked, np.linalg.solve(inner, to_asked))
    return mean, covariance.variances(asked) + covariance.private - lost + kept


def moments(scores, states, rewards, asked):
    scores.track(states)
    scores.condition_all(range(len(states)), rewards, [None] * len(states))
    return scores.predict(asked)


@pytest.mark.parametrize(
    ("name", "items", "size", "count"),
    [("synthetic", 15, 5, 300), ("digits", 64, 10, 1200), ("MNIST", 784, 10, 1200)],
)
def test_landmarks_are_close_to_the_variational_belief(name, items, size, count):
    problem = Subsets(items, size, reward=sum)
    rng = np.random.default_rng(0)
    drawn = {frozenset(rng.choice(items, size, replace=False).tolist()) for _ in range(3 * count)}
    leaves = sorted(drawn, key=sorted)
    leaves = [leaves[i] for i in rng.permutation(len(leaves))]
    states, asked = leaves[:count], leaves[count : count + 200]
    covariance = SetKernel().bind(problem)
    scale = float(covariance([states[0]])[0, 0])
    rows = covariance.represent(leaves)
    truth = np.linalg.cholesky(covariance(leaves) + 1e-8 * scale * np.eye(len(leaves))) @ rng.normal(
        size=len(leaves)
    )
    rewards = truth[:count] + np.sqrt(NOISE) * rng.normal(size=count)
    exact = moments(FunctionScores(covariance, NOISE), states, rewards, asked)
    landmarks = rows[greedy_landmarks(covariance, rows[:count])]
    model = InducedScores(covariance, NOISE, 0.0, rows[:count])
    ours = moments(model, states, rewards, asked)
    theirs = variational(covariance, landmarks, rows[:count], rewards, rows[count : count + 200])

    def distance(one, other):
        """Of the means in standard deviations, and of the log variances; both as root mean squares."""
        gap = (one[0] - other[0]) / np.sqrt(exact[1])
        return np.sqrt(np.mean(gap**2)), np.sqrt(np.mean(np.log(one[1] / other[1]) ** 2))

    found = {
        "landmarks and variational": distance(ours, theirs),
        "landmarks and exact": distance(ours, exact),
        "variational and exact": distance(theirs, exact),
    }
    error = {
        which: float(np.sqrt(np.mean((belief[0] - truth[count : count + 200]) ** 2)))
        for which, belief in (("exact", exact), ("landmarks", ours), ("variational", theirs))
    }
    print(
        f"{name}, {len(landmarks)} landmarks: ",
        {k: tuple(np.round(v, 3)) for k, v in found.items()},
        error,
    )
    assert found["landmarks and exact"][0] <= found["variational and exact"][0] + 0.1
    assert error["landmarks"] <= 1.05 * error["variational"]
