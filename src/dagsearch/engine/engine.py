"""The search itself: how a leaf is proposed, and what its reward changes."""

from collections.abc import Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext, suppress
from typing import Any, NamedTuple, cast

import numpy as np

from dagsearch._internal.deadline import OutOfTime
from dagsearch._internal.threads import one_thread
from dagsearch.engine.foresight import Foresight
from dagsearch.engine.history import History
from dagsearch.engine.learner import Learner
from dagsearch.engine.pending import Pending
from dagsearch.engine.recorder import Recorder
from dagsearch.engine.schedule import Schedule
from dagsearch.engine.steered import Steered
from dagsearch.errors import ProblemError, SearchExhausted
from dagsearch.posterior.base import JointScores, checked_noise
from dagsearch.posterior.units import Episode, checked_reward
from dagsearch.problem import Action, State
from dagsearch.proposers import Refinement
from dagsearch.proposers.descent import descend
from dagsearch.proposers.expansions import Expansion
from dagsearch.proposers.policies import Policy
from dagsearch.proposers.remaining import Remaining, Undecided, Way
from dagsearch.proposers.rollouts import Rollout, Uniform
from dagsearch.results import Evaluation, Proposal
from dagsearch.values.explored import Explored
from dagsearch.values.gaussians import Gaussian
from dagsearch.values.values import Values

_NOTHING = nullcontext()
# Number of descents in one proposal after which it is looked up exactly which leaves are left below them,
# and after which any leaf that is left will do.
_PATIENCE, _MOST_DESCENTS = 8, 64


class Told(NamedTuple):
    """A reward that was told, after all checks."""

    leaf: State
    """The evaluated leaf."""
    node: int
    """Its node."""
    proposal: Proposal | None
    """The proposal that it was evaluated for; ``None`` if the leaf was told without one."""
    reward: float
    """The reward in the user's units."""
    noise: float | None
    """Noise variance of this reward; ``None`` if it was not told."""
    seconds: float
    """When it was told, in seconds from the start of the search."""


class Engine:
    """The loop, in two halves: :meth:`propose` goes down to a leaf, :meth:`learn` brings its reward back up.

    Parameters
    ----------
    explored : Explored
        The explored DAG and the belief over it.
    policy, expansion, rollout
        Where a descent goes, how the DAG grows at its end, and how the path is finished.
    learner : Learner
        Updates the scores after a reward.
    values : Values
        Computes values from scores.
    schedule : Schedule
        Initial roll-outs, and when refinements propose instead of the descent.
    repeats : bool
        Whether a leaf may be evaluated again.
    rng : numpy Generator
        Source of all randomness.
    """

    def __init__(
        self,
        explored: Explored,
        policy: Policy,
        expansion: Expansion,
        rollout: Rollout,
        learner: Learner,
        values: Values,
        schedule: Schedule,
        repeats: bool,
        rng: np.random.Generator,
    ) -> None:
        self.explored, self.policy, self.expansion, self.rollout = explored, policy, expansion, rollout
        self.learner, self.values, self.schedule = learner, values, schedule
        self.repeats, self.rng = repeats, rng
        self.pending = Pending(explored, learner, values, repeats)
        self.history = History(explored, learner)
        self.foresight = Foresight()
        self.remaining = Remaining(explored)
        self.steered = Steered()
        self.record_with(Recorder())

    def propose(self) -> Proposal:
        """The leaf at the end of a descent and its roll-out."""
        descents = 0
        while True:
            path, actions = self._descend()
            self.expansion.expand(self.explored, path[-1])
            end, descents = self._roll_out(path[-1]), descents + 1
            if end is None and descents > _PATIENCE:
                path, actions, end = self._look_for_leaf(path, actions, descents)
            if end is not None:
                return self.explored.visited(path, actions, end)
            self.explored.deadline.check()
            self.values.update()  # the DAG has changed without a reward
            self.explored.changed("back up")

    def learn(self, episodes: Sequence[Episode], recorded: Mapping[str, Any] | None = None) -> None:
        """Condition the scores on rewards and bring the values up to date; raise if one was refused."""
        refused = self.learner.condition(episodes, recorded)
        self.values.update(episodes)
        if refused:
            raise refused[0]

    def _look_for_leaf(
        self, path: list[int], actions: list[Action], descents: int
    ) -> tuple[list[int], list[Action], Way | None]:
        """An open leaf below the end of a path or, if that takes too long, anywhere; with the path to there.

        Not in a game: its values follow from all positions, so these must be in the DAG.
        """
        if self.explored.graph.adversarial:
            return path, actions, None
        if descents <= _MOST_DESCENTS:
            with suppress(Undecided):
                return path, actions, self.remaining.below(path)
        end = Uniform().finish(self.explored, self.explored.problem.root(), self.rng)
        return [self.explored.root], [], end or self.remaining.anywhere()

    def _descend(self) -> tuple[list[int], list[Action]]:
        if self.schedule.starts_at_root() and not self.explored.graph.closed[self.explored.root]:
            return [self.explored.root], []
        return descend(self.explored, self.policy, self.expansion, self.rng)

    def _complete(self) -> None:
        """Add the states of a small problem that no descent came to, so that its values are exact."""
        explored = self.explored
        if not explored.graph.adversarial and explored.few_leaves and explored.complete():
            self.values.update()
            explored.changed("back up")

    def _roll_out(self, node: int) -> tuple[State, list[Action]] | None:
        """A leaf below the node, with the actions to it; ``None`` if only closed leaves were found."""
        state, end = self.explored.graph.states[node], None
        if self.learner.informed:
            end = self.rollout.finish(self.explored, state, self.rng)
        return end if end is not None else Uniform().finish(self.explored, state, self.rng)

    # Events of a search --------------------------------------------------------------------------------

    def ask(self) -> Proposal:
        """The next proposal; a pending leaf is proposed again only if no other leaf is left."""
        if self.pending.offered and (offered := self.pending.next_offered()) is not None:
            return offered
        with self.recorder.deciding():
            proposal = self._next_avoiding_pending()
            self.recorder.asked(proposal)
        return proposal

    def _next_avoiding_pending(self) -> Proposal:
        if not self.repeats or not self.pending.proposals:
            return self._next()
        with self.pending.avoided() as avoided:
            try:
                return self._next()
            except SearchExhausted:
                self.explored.reopen(avoided)
                return self._next()

    def _next(self) -> Proposal:
        self.pending.fantasise()
        turn, drawn = self.schedule.state, self.rng.bit_generator.state
        refinement = self.schedule.next(self.foresight.kept, self.rng)
        try:
            proposal = None if refinement is None else self._refined(refinement)
            return self.pending.add(self.propose() if proposal is None else proposal)
        except OutOfTime:
            self.schedule.state = turn  # nothing was proposed; a resumed search does not know of it either
            raise
        except SearchExhausted:
            # As if nothing had been tried: the process may end between here and the next event.
            self.schedule.state, self.rng.bit_generator.state = turn, drawn
            self._complete()
            self.settle()  # no further reward will come to standardise with
            raise

    def _refined(self, refinement: Refinement) -> Proposal | None:
        """A leaf near the best so far, if there is a best one and every decision maximises."""
        best = self.history.incumbent()
        if best is None or best.actions is None or self.explored.graph.adversarial:
            return None
        outcomes = self.history.outcomes(best, self.foresight.margin)
        found = refinement.refine(self.explored, outcomes, self.rng)
        return None if found is None else Proposal(found[0], tuple(found[1]))

    def checked(
        self, evaluated: Proposal | State, reward: float, noise: float | None, seconds: float | None = None
    ) -> Told:
        """A reward, checked, that is told after ``seconds`` of the search; now by default."""
        proposal = evaluated if isinstance(evaluated, Proposal) else None
        leaf = evaluated if proposal is None else proposal.leaf
        value = checked_reward(reward, leaf)
        variance = None if noise is None else checked_noise(noise)
        when = self.history.clock() if seconds is None else seconds
        with self.one_thread():
            node = self.explored.leaf(leaf)
            return Told(leaf, node, proposal and self._known(proposal), value, variance, when)

    def _known(self, proposal: Proposal) -> Proposal | None:
        """The pending proposal that is equal to this one, else this one.

        ``None`` if it is not pending and does not describe a way from the root: the root may have moved since
        it was asked for, or it may belong to another search. Its reward is that of the leaf all the same.
        """
        index = self.pending.find(proposal.leaf, proposal)
        pending = None if index is None else self.pending.proposals[index]
        if pending is proposal or (pending is not None and proposal.actions in (pending.actions, ())):
            return pending
        return proposal if self.explored.describes(proposal) else None

    def tell(self, told: Told, note: Any = None, recorded: Mapping[str, Any] | None = None) -> Evaluation:
        """Record a reward and learn from it.

        Parameters
        ----------
        told : Told
            The reward.
        note : optional
            Anything else to record with the reward.
        recorded : mapping, optional
            In a replay, the hyperparameters that were learnt after this reward; empty if none were.
        """
        with self.one_thread():
            self.pending.discard_fantasies()
            self.recorder.told(told, note)  # before anything is learnt: the reward has been paid for
            with self.recorder.repeating():
                return self._take(told, recorded)

    def _take(self, told: Told, recorded: Mapping[str, Any] | None) -> Evaluation:
        leaf, node, proposal, reward, noise, seconds = told
        predicted = self._compare(told)
        self.pending.drop(leaf, proposal)
        self.explored.graph.closed[node] = not self.repeats
        actions, path = (None, ()) if proposal is None else (proposal.actions, proposal.path)
        evaluation = self.history.record(leaf, actions, reward, seconds, predicted)
        if self.schedule.refinements and evaluation is self.history.best and actions is not None:
            self.expansion.adopt(self.explored, actions)
        self.learn(self.learner.admit(Episode(path, node, reward, noise)), recorded)
        return evaluation

    def _compare(self, told: Told) -> Gaussian | None:
        """What was predicted for a reward; ``None`` if the model is not learnt from rewards."""
        if self.learner.evidence is None:
            return None
        belief = self.prediction(told)
        self.foresight.record(belief, told.reward)
        return belief

    def prediction(self, told: Told) -> Gaussian | None:
        """Belief over a reward before it is learnt, its noise included.

        ``None`` if no reward is known yet, or the scores have no joint belief.
        """
        if not self.learner.informed or not self.explored.scores.is_joint:
            return None
        belief, noise = self.learner.in_reward_units(self.explored.score(told.node)), told.noise
        if noise is None:
            scores = cast(JointScores, self.explored.scores)
            noise = self.learner.in_reward_units(Gaussian(0.0, scores.noise)).variance
        return Gaussian(belief.mean, belief.variance + noise)

    def propose_leaf(self, leaf: State, actions: Sequence[Action], note: Any = None) -> Proposal:
        """Make a leaf of the user's choice pending."""
        proposal = Proposal(leaf, tuple(actions))
        if not self.explored.describes(proposal):
            raise ProblemError(
                f"cannot propose {leaf!r}: the actions {proposal.actions!r} do not lead there from the root. "
                "Give the actions from the present root to the leaf"
            )
        self.explored.leaf(leaf)  # raises if it is none
        self.recorder.proposed(leaf, actions, note)
        return self.pending.add(proposal)

    def forget(self, index: int, again: bool, note: Any = None) -> None:
        """Take back a pending proposal."""
        with self.one_thread():
            self.pending.discard_fantasies()
        self.recorder.forgotten(index, again, note)
        self.pending.forget(index, again)

    def postpone(self, proposal: Proposal) -> None:
        """Let a proposal be asked for again, because its evaluation was interrupted."""
        if self.recorder.broken:
            return  # the search must not know more than its record
        index = self.pending.find(proposal.leaf, proposal)
        if self.recorder.keeps_pending:
            self.pending.offer([proposal])
        elif index is not None:
            self.forget(index, again=True)

    def settle(self) -> None:
        """Learn from rewards that are still held back to be standardised."""
        self.recorder.settled()
        with one_thread(), self.recorder.deciding():
            self.learn(self.learner.settle())

    @one_thread()
    def reroot(self, state: State) -> None:
        """Make a state below the root the new root."""
        explored, graph = self.explored, self.explored.graph
        from_state = explored.capabilities.from_state
        if from_state is None:
            name = type(explored.problem).__name__
            raise ProblemError(f"reroot needs from_state(state): give {name} this method")
        self.pending.discard_fantasies()
        node = explored.find(state)
        way = explored.way_to(state) if node < 0 or graph.level[node] < 0 else None
        self.recorder.rerooted(state)  # once it is known to be possible
        with self.recorder.repeating():
            if way is not None:
                self.expansion.adopt(explored, way)
                node = explored.node(state)
                graph.level[node] = max(graph.level[node], graph.level[explored.root] + len(way))
            explored.move_root(node, from_state(state))
            self.values.update()

    def record_with(self, recorder: Recorder) -> None:
        """Report all further events to a recorder."""
        self.recorder = self.explored.listener = self.learner.listener = recorder

    def one_thread(self) -> AbstractContextManager[None]:
        """While entered, BLAS uses one thread. A small model does not use BLAS, so nothing is set."""
        return one_thread() if self.explored.scores.uses_blas else _NOTHING
