"""What a search can say: beliefs, the recommended line, the result."""

from collections import deque
from collections.abc import Sequence
from contextlib import suppress
from typing import TYPE_CHECKING

import numpy as np

from dagsearch._internal.threads import one_thread
from dagsearch._internal.typing import FloatArray
from dagsearch.optimum import Optimum, Signs, sample_optimum
from dagsearch.posterior.base import Scores
from dagsearch.problem import Action, Children, State
from dagsearch.proposers.expansions import OneChild
from dagsearch.results import UNKNOWN, Belief, Line, Result
from dagsearch.values.backups import MomentMatching
from dagsearch.values.explored import Explored
from dagsearch.values.gaussians import Gaussian
from dagsearch.values.values import Values

if TYPE_CHECKING:
    from dagsearch.search import Search

# Number of joint samples behind a result, and of leaves sampled in addition to the evaluated ones.
SAMPLES, LEAVES = 512, 1000
# Number of times in a row, each after 10 % more evaluations, that a search must be certain to stop: a rule
# that looks often would stop at the first time that it is certain by chance.
IN_A_ROW = 3
# Number of evaluations beyond which joint samples would cost too much.
_MOST_SAMPLED = 3000
# Number of best leaves whose ways are explored when values are read.
_MOST_WAYS = 30


class Answers:
    """Answers questions from the state of a search, without changing what it will do."""

    def __init__(self, search: "Search") -> None:
        self._search = search
        self.reset()

    def reset(self) -> None:
        """Forget what was computed from the old root."""
        self._optimum: tuple[tuple[int, ...], Optimum] | None = None  # with its inputs
        self._asked_at = 0
        self._certainties = deque[float](maxlen=IN_A_ROW)
        self._values: tuple[tuple[int, bool], Values] | None = None  # with what was known of rewards

    @one_thread()
    def values(self) -> Values:
        """The DAG that descents have explored; without descents, that of the ways to the best leaves."""
        search = self._search
        search.outstanding.discard_fantasies()
        if search.portfolio.descent is not None:
            search.explored_values.current()
            return search.explored_values
        known = len(search.history), search.posterior.informed
        if self._values is None or self._values[0] != known:
            self._values = known, values_of_best(search)
        return self._values[1]

    @one_thread()
    def belief(self, state: State) -> Belief:
        """Belief over g and v of a state, in units of the reward."""
        values = self.values()
        explored = values.explored
        state = explored.space.as_leaf(state)
        node = explored.find(state)
        if node >= 0:
            g, v, visits = explored.score(node), explored.value(node), int(explored.graph.visits[node])
        else:
            mean, variance = predicted(self._search, [state])
            g, visits = Gaussian(float(mean[0]), float(variance[0])), 0
            delta = explored.increments.at(explored.increments.depth - self._steps_left(state))
            v = Gaussian(g.mean + delta.mean, g.variance + delta.variance)
        rescale = self._search.posterior.in_reward_units
        return Belief(rescale(g), rescale(v), visits)

    def _steps_left(self, state: State) -> int:
        """Number of decisions to the leaf that first actions lead to, at most the problem's depth."""
        problem, depth = self._search.problem, len(self._search.space.levels)
        for steps in range(depth):
            actions = problem.actions(state)
            if len(actions) == 0:
                return steps
            state = problem.step(state, actions[0])
        return depth

    @one_thread()
    def best_action(self, state: State) -> Action | None:
        """The action with the best mean value; ``None`` where the explored part ends."""
        explored, descent = self.values().explored, self._search.portfolio.descent
        node = explored.find(state)
        if node < 0 or explored.graph.count[node] == 0:
            return None
        expansion = OneChild() if descent is None else descent.expansion
        options = expansion.options(explored, node)
        assert options is not None
        rated = options.mean if descent is None else descent.policy.value(options)
        return options.action(int(np.argmax(rated)))

    @one_thread()
    def recommend(self) -> Line:
        """The path of best mean v, continued by best mean g where the explored part ends."""
        problem = self._search.problem
        states, actions = [problem.root()], []
        explored = 0
        while len(problem.actions(states[-1])) > 0:
            action = self.best_action(states[-1])
            if action is None:
                action = self._best_score(states[-1])
            else:
                explored += 1
            actions.append(action)
            states.append(problem.step(states[-1], action))
        return Line(tuple(states), tuple(actions), explored)

    def _best_score(self, state: State) -> Action:
        space = self._search.space
        children = Children(space.problem, state, space.problem.actions(state))
        mean, _ = self._search.posterior.predict(children.states)
        return children.actions[int(np.argmax(space.player(state) * mean))]

    @one_thread()
    def result(self) -> Result:
        """The result so far."""
        search, data = self._search, self._search.data
        evaluations, stopped = tuple(data.evaluations), data.stopped
        prior = search.posterior.scores.covariance
        model = None if prior is None else repr(prior), data.foresight.skill, data.foresight.coverage
        best = data.incumbent()
        if best is None:
            return Result(None, None, None, UNKNOWN, None, stopped, evaluations, *model)
        value, probability = self._best_possible()
        if search.explored.graph.adversarial:
            line = self.recommend()
            reward = self._mean_reward(line.states[-1])
            found = line.states[-1], line.actions, reward, value, None, stopped, evaluations
            return Result(*found, *model, game=True)
        mean = self._mean_reward(best.leaf) if search.posterior.learns_noise else best.reward
        return Result(best.leaf, best.actions, mean, value, probability, stopped, evaluations, *model)

    def after_error(self) -> Result:
        """The result after an error; only the rewards, if model or problem fail when asked for more."""
        with suppress(Exception):
            return self.result()
        data = self._search.data
        best = data.best
        return Result(
            None if best is None else best.leaf,
            None if best is None else best.actions,
            None if best is None else best.reward,
            UNKNOWN,
            None,
            data.stopped,
            tuple(data.evaluations),
        )

    def _mean_reward(self, leaf: State) -> float | None:
        """Mean of the rewards of a leaf; ``None`` if it was not evaluated."""
        node = self._search.explored.find(leaf)
        told = [episode.reward for episode in self._search.posterior.told if episode.leaf == node]
        return float(np.mean(told)) if told else None

    @one_thread()
    def sample_optimum(self, count: int, most: int, models: int = 1) -> Optimum | None:
        """Joint samples of g of the leaves that may be best, in units of the reward.

        With several ``models``, hyperparameters are drawn, too, as far as the rewards leave them open.
        """
        search, posterior = self._search, self._search.posterior
        if (
            not posterior.informed
            or not posterior.scores.is_joint
            or len(search.data) > _MOST_SAMPLED
            or search.explored.graph.adversarial
        ):
            return None
        search.outstanding.discard_fantasies()
        known = (len(posterior.told), count, most, models)
        if self._optimum is not None and self._optimum[0] == known:
            return self._optimum[1]
        with search.deadline.until():  # a result is needed after the deadline, too
            drawn = posterior.plausible_models(models) if models > 1 else [posterior.scores]
            optimum = sample_optimum(search, drawn, count, most)
        in_units = posterior.standardizer.samples_in_units_of_reward
        self._optimum = known, Optimum(optimum.leaves, in_units(optimum.mean), in_units(optimum.samples))
        return self._optimum[1]

    def _best_possible(self) -> tuple[Gaussian, float | None]:
        """Belief over the best possible reward, and the probability that the best leaf so far has it."""
        optimum = self._widened_optimum()
        if optimum is None:
            return self.belief(self._search.problem.root()).v, None
        value = Gaussian(float(optimum.best.mean()), float(optimum.best.var()))
        if self._all_known:
            return value, 1.0
        signs = self.signs()
        return value, None if signs is None else signs.probability

    def _widened_optimum(self) -> Optimum | None:
        """Joint samples of the leaves that may be best, as wide as earlier errors of prediction."""
        optimum, error = self.sample_optimum(SAMPLES, LEAVES), self._search.data.foresight.error
        return None if optimum is None else optimum.widened(1.0 if error is None else error)

    @property
    def _all_known(self) -> bool:
        """Whether every leaf was evaluated, and rewards have no noise."""
        search = self._search
        if search.posterior.learns_noise:
            return False
        leaves = search.space.few_leaves
        if not leaves:
            return search.data.stopped == "exhausted"
        evaluated = {search.explored.key(one.leaf) for one in search.data.evaluations}
        return all(search.explored.key(leaf) in evaluated for leaf in leaves)

    def signs(self) -> Signs | None:
        """What says whether the best leaf so far is the best of all; ``None`` with too few predictions."""
        search, foresight = self._search, self._search.data.foresight
        best, optimum, skill = search.data.incumbent(), self._widened_optimum(), foresight.skill
        if best is None or optimum is None or skill is None:
            return None
        own = next(i for i, leaf in enumerate(optimum.leaves) if search.space.same(leaf, best.leaf))
        spread = float(np.std([episode.reward for episode in search.posterior.told]))
        return Signs(
            optimum.probability(own, spread),
            (len(search.data) - best.step + 1) / max(search.space.log_leaves, 1.0),
            min(max(skill, 0.0), 1.0),
        )

    @one_thread()
    def recent_certainty(self) -> float | None:
        """A cautious probability that the best leaf is the best of all; computed every 10 % more rewards."""
        evaluations = len(self._search.data)
        if evaluations >= max(self._asked_at + 1, round(1.1 * self._asked_at)):
            self._asked_at, signs = evaluations, self.signs()
            if self._all_known:
                self._certainties.extend([1.0] * IN_A_ROW)
            elif signs is not None:
                self._certainties.append(signs.cautious)
        return min(self._certainties) if len(self._certainties) == IN_A_ROW else None


def values_of_best(search: "Search") -> Values:
    """Values over the ways to the best leaves, or over all states of a small problem."""
    explored = Explored(search.space, _Predicted(search))
    if search.space.few_leaves:
        explored.complete()
    asked = sorted(search.data.reached, key=lambda evaluation: -evaluation.reward)
    for evaluation in asked[:_MOST_WAYS]:
        OneChild().adopt(explored, evaluation.actions or ())
    backup = search.explored_values.backup
    if not getattr(backup, "from_scratch", False):  # it keeps what belongs to the other DAG
        backup = MomentMatching()
    values = Values(explored, backup)
    values.current()
    return values


def predicted(search: "Search", states: Sequence[State]) -> tuple[FloatArray, FloatArray]:
    """Mean and variance of g of any states; of known ones with what their own rewards say."""
    mean, variance = search.posterior.predict(states)
    nodes = np.array([search.explored.find(state) for state in states])
    known = nodes >= 0
    if known.any():
        mean[known], variance[known] = search.posterior.moments(nodes[known].tolist())
    return mean, variance


class _Predicted(Scores):
    """The posterior's predictions of g, for a DAG that is made to be read."""

    def __init__(self, search: "Search") -> None:
        self._search = search
        self.covariance = search.posterior.scores.covariance
        self._mean = self._variance = np.zeros(0)

    @property
    def mean(self) -> FloatArray:
        """Mean of every state."""
        return self._mean

    @property
    def variance(self) -> FloatArray:
        """Variance of every state."""
        return self._variance

    def track(self, states: Sequence[State]) -> None:
        """Predict new states."""
        mean, variance = self.predict(states)
        self._mean, self._variance = np.append(self._mean, mean), np.append(self._variance, variance)

    def predict(self, states: Sequence[State]) -> tuple[FloatArray, FloatArray]:
        """Mean and variance of states that are not tracked."""
        return predicted(self._search, states)

    def predict_children(self, children: Children, node: int | None = None) -> tuple[FloatArray, FloatArray]:
        """Mean and variance of the children of a state."""
        return self._search.posterior.scores.predict_children(children)

    def condition(self, node: int, reward: float, noise: float | None = None) -> None:
        """Not used: no reward will come."""
        raise NotImplementedError("this DAG is made to be read")
