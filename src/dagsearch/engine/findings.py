"""What a search has found: beliefs, the recommended line, the result."""

import math
from contextlib import suppress

import numpy as np

from dagsearch._internal.threads import one_thread
from dagsearch.engine.engine import Engine
from dagsearch.problem import Action, Children, State
from dagsearch.proposers.optimum import Optimum, sample_optimum
from dagsearch.results import Belief, Line, Result
from dagsearch.space.walks import shape_rng
from dagsearch.values.gaussians import Gaussian

# Number of joint samples behind a result, and of leaves sampled in addition to the evaluated ones.
SAMPLES, LEAVES = 512, 1000
# Number of evaluations beyond which joint samples would cost too much.
_MOST_SAMPLED = 3000


class Findings:
    """Answers questions from the engine's state, without changing what the search will do."""

    def __init__(self, engine: Engine) -> None:
        self._engine = engine
        self.reset()

    def reset(self) -> None:
        """Forget what was computed from the old root."""
        self._optimum: tuple[tuple[int, ...], Optimum] | None = None  # with its inputs
        self._probability: tuple[int, float | None] = (0, None)

    @one_thread()
    def belief(self, state: State) -> Belief:
        """Belief over g and v of a state, in units of the reward."""
        self._engine.pending.discard_fantasies()
        explored, graph = self._engine.explored, self._engine.explored.graph
        node = explored.find(state)
        if node >= 0:
            g, v, visits = explored.score(node), explored.value(node), int(graph.visits[node])
        else:
            mean, variance = explored.scores.predict([state])
            g, visits = Gaussian(float(mean[0]), float(variance[0])), 0
            delta = explored.increments.at(explored.increments.depth - self._steps_left(state))
            v = Gaussian(g.mean + delta.mean, g.variance + delta.variance)
        rescale = self._engine.learner.in_reward_units
        return Belief(rescale(g), rescale(v), visits)

    def _steps_left(self, state: State) -> int:
        """Number of decisions to the leaf that first actions lead to, at most the problem's depth."""
        problem, depth = self._engine.explored.problem, self._engine.explored.increments.depth
        for steps in range(depth):
            actions = problem.actions(state)
            if len(actions) == 0:
                return steps
            state = problem.step(state, actions[0])
        return depth

    @one_thread()
    def best_action(self, state: State) -> Action | None:
        """The action with the best mean value; ``None`` where the explored part ends."""
        self._engine.pending.discard_fantasies()
        explored = self._engine.explored
        node = explored.find(state)
        if node < 0 or explored.graph.count[node] == 0:
            return None
        options = self._engine.expansion.options(explored, node)
        assert options is not None
        return options.action(int(np.argmax(self._engine.policy.value(options))))

    @one_thread()
    def recommend(self) -> Line:
        """The path of best mean v, continued by best mean g where the explored part ends."""
        problem = self._engine.explored.problem
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
        explored = self._engine.explored
        children = Children(explored.problem, state, explored.problem.actions(state))
        mean, _ = explored.scores.predict(children.states)
        return children.actions[int(np.argmax(explored.capabilities.player(state) * mean))]

    @one_thread()
    def result(self) -> Result:
        """The result so far."""
        history = self._engine.history
        evaluations, stopped = tuple(history.evaluations), history.stopped
        prior = self._engine.explored.scores.covariance
        foresight = self._engine.foresight
        model = None if prior is None else repr(prior), foresight.skill, foresight.coverage
        value, probability = self._best_possible()
        best = history.incumbent()
        if best is None:
            return Result(None, None, None, value, None, stopped, evaluations, *model)
        if self._engine.explored.graph.adversarial:
            line = self.recommend()
            reward = self._mean_reward(line.states[-1])
            found = line.states[-1], line.actions, reward, value, None, stopped, evaluations
            return Result(*found, *model, game=True)
        mean = self._mean_reward(best.leaf) if self._engine.learner.learns_noise else best.reward
        return Result(best.leaf, best.actions, mean, value, probability, stopped, evaluations, *model)

    def after_error(self) -> Result:
        """The result after an error; only the rewards, if model or problem fail when asked for more."""
        with suppress(Exception):
            return self.result()
        history = self._engine.history
        best = history.best
        return Result(
            None if best is None else best.leaf,
            None if best is None else best.actions,
            None if best is None else best.reward,
            Gaussian(math.nan, math.inf),
            None,
            history.stopped,
            tuple(history.evaluations),
        )

    def _mean_reward(self, leaf: State) -> float | None:
        """Mean of the rewards of a leaf; ``None`` if it was not evaluated."""
        node = self._engine.explored.find(leaf)
        told = [episode.reward for episode in self._engine.learner.told if episode.leaf == node]
        return float(np.mean(told)) if told else None

    @one_thread()
    def sample_optimum(self, count: int, most: int, models: int = 1) -> Optimum | None:
        """Joint samples of g of the leaves that may be best, in units of the reward.

        With several ``models``, hyperparameters are drawn, too, as far as the rewards leave them open.
        """
        engine, learner = self._engine, self._engine.learner
        if (
            not learner.informed
            or not engine.explored.scores.is_joint
            or len(engine.history) > _MOST_SAMPLED
            or engine.explored.graph.adversarial
        ):
            return None
        engine.pending.discard_fantasies()
        known = (len(learner.told), count, most, models)
        if self._optimum is not None and self._optimum[0] == known:
            return self._optimum[1]
        leaves = np.unique([episode.leaf for episode in learner.told]).tolist()
        asked = [evaluation for evaluation in engine.history.evaluations if evaluation.actions is not None]
        good = sorted(asked, key=lambda evaluation: -evaluation.reward)
        paths = ((evaluation.leaf, evaluation.actions or ()) for evaluation in good)
        with engine.explored.deadline.until():  # a result is needed after the deadline, too
            drawn = learner.plausible_models(models) if models > 1 else []
            optimum = sample_optimum(engine.explored, leaves, paths, count, shape_rng(), most, drawn)
        in_units = learner.standardizer.samples_in_units_of_reward(optimum.samples)
        self._optimum = known, optimum._replace(samples=in_units)
        return self._optimum[1]

    def _best_possible(self) -> tuple[Gaussian, float | None]:
        """Belief over the best possible reward, and the probability that the best leaf so far has it."""
        engine = self._engine
        best, optimum = engine.history.incumbent(), self.sample_optimum(SAMPLES, LEAVES)
        if best is None or optimum is None:
            return self.belief(engine.explored.problem.root()).v, None
        own = next(i for i, leaf in enumerate(optimum.leaves) if engine.explored.same(leaf, best.leaf))
        tied = optimum.probability(own, float(np.std([episode.reward for episode in engine.learner.told])))
        return Gaussian(float(optimum.best.mean()), float(optimum.best.var())), tied * self._trust()

    def _trust(self) -> float:
        """How far the model's word on leaves that nobody looked at is to be taken.

        Where all leaves are compared it is taken as it is. Elsewhere good leaves may lie where nothing was
        evaluated, and how well the model predicts is all that is known of its word on them.
        """
        if self._engine.explored.few_leaves or self._engine.learner.evidence is None:
            return 1.0
        return min(1.0, max(0.0, self._engine.foresight.skill or 0.0)) ** 2

    @one_thread()
    def recent_probability(self) -> float | None:
        """Probability that the best leaf so far is the best of all; computed every 10 % more evaluations."""
        known_at, _ = self._probability
        evaluations = len(self._engine.history)
        if evaluations >= max(known_at + 1, round(1.1 * known_at)):
            self._probability = evaluations, self._best_possible()[1]
        return self._probability[1]
