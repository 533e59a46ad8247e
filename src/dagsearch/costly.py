"""The search of a problem with costly steps: ask for a step, tell what it has led to."""

import math
from collections.abc import Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, nullcontext
from os import PathLike
from typing import Any, NamedTuple, Self

import numpy as np

from dagsearch._internal.checks import checked_flag, seed_of
from dagsearch._internal.deadline import Deadline
from dagsearch._internal.texts import shown
from dagsearch.data import History
from dagsearch.errors import ProblemError, SearchExhausted
from dagsearch.forecasts import Forecast
from dagsearch.journal.resume import start_journal
from dagsearch.optimum import Optimum
from dagsearch.pending import Outstanding
from dagsearch.posterior.steps import StepBelief
from dagsearch.problem import Action, State, Step, StepProblem, check_members
from dagsearch.proposers.frontier import Frontier
from dagsearch.recorder import Recorder
from dagsearch.results import UNKNOWN, Belief, Evaluation, Gaussian, Line, Proposal, Result, StepProposal
from dagsearch.run.steering import Steered
from dagsearch.run.stopping import Stop
from dagsearch.search import Search, Seed
from dagsearch.space import Space
from dagsearch.values.steps import PENDING, Arrival, Steps, checked_step


class ToldStep(NamedTuple):
    """A step that was told, after all checks."""

    slot: int
    """Its number in the search."""
    proposal: StepProposal
    """The pending proposal that it was taken for."""
    arrival: Arrival
    """What it has led to."""
    seconds: float
    """When it was told, in seconds from the start of the search."""


class StepSearch(Search):
    """A search of a problem with costly steps; :meth:`Search.default` makes one if a problem has ``expand``.

    It asks for steps and is told a :class:`dagsearch.Step` for each. ``docs/costly.md`` explains it.

    Parameters
    ----------
    problem : StepProblem
        What to search.
    proposer : Frontier, optional
        How the next step is chosen.
    seed, journal
        See :class:`Search`.
    """

    def __init__(
        self,
        problem: StepProblem | Space,
        *,
        proposer: Frontier | None = None,
        seed: Seed = None,
        journal: str | PathLike[str] | None = None,
    ) -> None:
        space = Space.of(problem)  # type: ignore[arg-type]
        check_members(space.problem)
        self.steps_known = Steps(space)
        self.belief_over_steps = StepBelief(self.steps_known)
        self.proposer = Frontier() if proposer is None else proposer
        self.data = History()  # type: ignore[assignment]
        self.outstanding = Outstanding()  # type: ignore[assignment]
        self.deadline = Deadline()
        self.repeats, self.seed, self.asked = False, seed_of(seed), 0
        self.answers = StepAnswers(self)  # type: ignore[assignment]
        self.steered = Steered()
        self._spent = 0.0
        self.record_with(Recorder())
        start_journal(self, journal, "StepSearch", {})

    # Asking and telling ----------------------------------------------------------------------------------

    def _ask(self) -> Proposal:
        """The next proposal; one whose step was cut off comes first."""
        if self.outstanding.offered and (offered := self.outstanding.next_offered()) is not None:
            return offered
        with self.recorder.deciding():
            rng = np.random.default_rng([self.seed, self.asked])
            proposal = self.proposer.propose(self.steps_known, self.belief_over_steps, rng)
            if proposal is None:
                raise SearchExhausted("every step has been taken or asked for")
            self.outstanding.proposals.append(proposal)
            self.asked += 1
            self.recorder.asked(proposal)
        return proposal

    def tell(  # type: ignore[override]
        self, evaluated: Proposal, reward: Step, noise: None = None, *, note: Any = None
    ) -> Evaluation:
        """Learn what a step has led to.

        Parameters
        ----------
        evaluated : StepProposal
            The step that was asked for.
        reward : Step
            What it has led to: ``problem.expand(proposal.state, proposal.action)``.
        noise
            Must be left out: steps have no noise.
        note : optional
            Anything; it is written to the journal with the step, as text where JSON has no such type.
        """
        return self.take(self.checked(evaluated, reward, noise), note)

    def checked(  # type: ignore[override]
        self, evaluated: Proposal, reward: Step, noise: None, seconds: float | None = None
    ) -> ToldStep:
        """A step, checked, that is told after ``seconds`` of the search; now by default."""
        if noise is not None:
            raise ValueError("noise does not apply: a costly step is taken once, and what it led to is known")
        if not isinstance(evaluated, StepProposal):
            raise ValueError(f"tell needs a proposal of ask(), got {shown(evaluated)}")
        index = self._find(evaluated)
        if index is None:
            raise ValueError(f"{evaluated!r} is not pending: it was told, taken back or never asked for")
        pending = self.outstanding.proposals[index]
        assert isinstance(pending, StepProposal)
        step = checked_step(reward, *pending.leaf)
        arrival = self.steps_known.describe(step)  # raises before anything changes
        return ToldStep(pending.slot, pending, arrival, self.data.clock() if seconds is None else seconds)

    def take(  # type: ignore[override]
        self, told: ToldStep, note: Any = None, recorded: Mapping[str, Any] | None = None
    ) -> Evaluation:
        """Record a checked step and learn from it."""
        steps = self.steps_known
        self.recorder.told(told, note)  # type: ignore[arg-type]
        with self.recorder.repeating():
            self._spent += float(steps.slot_cost[told.slot])
            reward = self.reward_of(told)
            child = steps.take(told.slot, told.arrival)
            self.belief_over_steps.learn(told.slot)
            self.proposer.learn(steps, told.slot)
            self._drop(told.proposal)
            state = steps.graph.states[child]
            evaluation = self.data.add(state, told.proposal.actions, reward, told.seconds)
            best = steps.best_node()
            evaluation.recommend(None if best < 0 else steps.graph.states[best])
        return evaluation

    def reward_of(self, told: ToldStep) -> float:
        """What the best known path by way of a step earns; −∞ while one cannot stop anywhere on it."""
        steps, step = self.steps_known, told.arrival.step
        before = float(steps.reach[steps.slot_node[told.slot]]) + step.gain
        child = steps.find(step.state)
        value = -math.inf if step.value is None else step.value
        if child < 0:
            return before + value
        if steps.is_above(child, int(steps.slot_node[told.slot])):  # the way there is longer than necessary
            return float(steps.reach[child] + steps.graph.stop[child])
        return before + max(value, float(steps.graph.v_mean[child]))

    def repeat_ask(self, slot: int, begins: bool) -> None:
        """Make a slot pending that was asked for in the search that wrote a journal."""
        steps = self.steps_known
        if not 0 <= slot < steps.slots or not steps.open[slot] or not steps.draw(slot):
            raise ProblemError(f"step {slot} cannot be taken")
        self.outstanding.proposals.append(self.proposer.chosen(steps, slot, begins))
        self.asked += 1

    def posterior_of(self, slot: int) -> tuple[float, float]:
        """What is believed of a slot, to compare a resumed search with the one before."""
        return self.belief_over_steps.predict(slot)

    def _find(self, proposal: Proposal) -> int | None:
        """Index of a pending proposal, or of the one for the same step."""
        for index, other in enumerate(self.outstanding.proposals):
            if other is proposal or (
                isinstance(proposal, StepProposal)
                and isinstance(other, StepProposal)
                and proposal.slot in (other.slot, -1)
                and other.action == proposal.action
                and self.space.same(other.state, proposal.state)
            ):
                return index
        return None

    def _drop(self, proposal: Proposal) -> None:
        self.outstanding.proposals = [one for one in self.outstanding.proposals if one is not proposal]

    def propose(self, leaf: State, actions: Sequence[Action] | None = None, note: Any = None) -> Proposal:
        """Refused: only the search says which steps are taken."""
        raise ProblemError("propose does not apply to costly steps: ask() says which step to take")

    def way_to(self, leaf: State) -> Proposal:
        """Refused: only the search says which steps are taken."""
        raise ProblemError("steps cannot be proposed or told by a request: ask() says which step to take")

    def forget(self, proposal: Proposal, *, again: bool = True, note: Any = None) -> None:
        """Take back a pending step whose outcome will not come.

        ``again`` says whether it may be asked for again; if not, it counts as failed.
        """
        index = self._find(proposal)
        if index is None:
            raise ValueError(f"{proposal!r} is not pending: it was told, taken back or never asked for")
        self.recorder.forgotten(index, again, note)
        pending = self.outstanding.proposals[index]
        assert isinstance(pending, StepProposal)
        self._drop(pending)
        if again:
            self.steps_known.reopen(pending.slot)
        else:
            self.steps_known.fail(pending.slot)
            self._spent += float(self.steps_known.slot_cost[pending.slot])
            self.belief_over_steps.learn(pending.slot)
            self.proposer.learn(self.steps_known, pending.slot)

    def postpone(self, proposal: Proposal) -> None:
        """Let a step be asked for again, because it was interrupted."""
        if self.recorder.broken:
            return  # the search must not know more than its record
        if self.recorder.keeps_pending:
            self.outstanding.offer([proposal])
        elif self._find(proposal) is not None:
            self.forget(proposal, again=True)

    def cost_of(self, proposal: Proposal) -> float:
        """What a step takes of the budget."""
        assert isinstance(proposal, StepProposal)
        return float(self.steps_known.slot_cost[proposal.slot])

    @property
    def spent(self) -> int:
        """What the steps so far have taken of the budget."""
        return math.ceil(self._spent)

    def settle(self) -> None:
        """Do nothing: no step is held back."""

    def record_with(self, recorder: Recorder) -> None:
        """Report all further events to a recorder."""
        self.recorder = recorder

    def one_thread(self) -> AbstractContextManager[None]:
        """Nothing is set: the belief does not use BLAS."""
        return nullcontext()

    @classmethod
    def default(  # type: ignore[override]
        cls,
        problem: StepProblem,
        *,
        covariance: None = None,
        noisy: bool = False,
        initial: int = 0,
        seed: Seed = None,
        journal: str | PathLike[str] | None = None,
    ) -> Self:
        """The method of :func:`dagsearch.search` for problems with costly steps.

        ``covariance`` and ``noisy`` do not apply and must be left out; ``initial`` is ignored: no step is
        taken before the first decision.
        """
        if covariance is not None:
            raise ValueError(
                "covariance does not apply to costly steps: give the problem features(state, action)"
            )
        if checked_flag("noisy", noisy):
            raise ValueError("noisy does not apply to costly steps: every step is taken once")
        search = cls(problem, seed=seed)
        start_journal(search, journal, "Search.default", {})
        return search

    def steps(self, budget: int, stop: Stop | None = None, **execution: Any) -> Iterator[Evaluation]:
        """Take steps that cost ``budget`` together, one per iteration, as :meth:`Search.steps` evaluates.

        A step that fails is not taken again, and counts. ``on_error`` is ``"raise"`` or ``"skip"``: a failed
        step has no reward that could be told.
        """
        if not isinstance(execution.get("on_error", "raise"), str):
            raise ValueError(
                "on_error must be 'raise' or 'skip': a failed step has no reward that could be told"
            )
        known = self.steps_known
        if (
            stop is not None
            and stop.confidence is not None
            and known.slots
            and np.isfinite(known.graph.stop[0])
        ):
            raise ValueError(
                "confidence does not apply where one can stop after every step: nobody knows what more steps "
                "would bring. Use patience, target or seconds"
            )
        return super().steps(budget, stop, **execution)

    # What is known -----------------------------------------------------------------------------------------

    @property
    def problem(self) -> Any:
        """The problem that is searched."""
        return self.steps_known.problem

    @property
    def space(self) -> Space:
        """The problem as it was examined."""
        return self.steps_known.space

    def best_action(self, state: State) -> Action | None:
        """The first step of the best known path from a state; ``None`` if it is best to stop, or unknown."""
        return self.answers.best_action(state)

    def forecast(self, n: int = 1) -> Forecast | None:
        """``None``: how well forecasts hold has not been measured for costly steps."""
        return None

    def belief(self, state: State) -> Belief:
        """What the best known path from a state earns, as ``v``; ``g`` is what stopping there is worth."""
        return self.answers.belief(state)

    def recommend(self) -> Line:
        """The best known path."""
        return self.answers.recommend()

    @property
    def values(self) -> Any:
        """The explored part, :class:`dagsearch.values.steps.Steps`: V, R and the steps that can be taken."""
        return self.steps_known

    def sample_optimum(self, count: int = 512, most: int = 1000, models: int = 1) -> Optimum | None:
        """``None``: there are no leaves to sample."""
        return None


class StepAnswers:
    """Answers questions from the state of a search with costly steps."""

    def __init__(self, search: StepSearch) -> None:
        self._search = search

    def result(self) -> Result:
        """The result so far."""
        search = self._search
        steps, data = search.steps_known, search.data
        best = steps.best_node()
        found: tuple[Any, Any, Any] = (None, None, None)
        if best >= 0:
            found = steps.graph.states[best], steps.way_to(best), steps.best
        value = Gaussian(steps.best, 0.0) if best >= 0 else UNKNOWN
        return Result(
            *found,
            value,
            search.belief_over_steps.certainty(),
            data.stopped,
            tuple(data.evaluations),
            steps=True,
        )

    def belief(self, state: State) -> Belief:
        """V of a state, and what stopping there is worth; both are exact as far as it is explored."""
        steps = self._search.steps_known
        node = steps.find(state)
        if node < 0:
            raise ValueError(f"{shown(state)} is not a known state: only steps make states known")
        worth = (Gaussian(float(steps.graph.stop[node]), 0.0), Gaussian(float(steps.graph.v_mean[node]), 0.0))
        taken = steps.slot_became[: steps.slots][steps.slots_of(node)] > PENDING
        return Belief(*worth, int(taken.sum()))

    def best_action(self, state: State) -> Action | None:
        """The first step of the best known path from a state."""
        steps = self._search.steps_known
        node = steps.find(state)
        slot = -1 if node < 0 else steps.best_slot(node)
        return None if slot < 0 else steps.action(slot)

    def recommend(self) -> Line:
        """The best known path."""
        steps = self._search.steps_known
        nodes = steps.nodes_to(max(steps.best_node(), 0))
        states = tuple(steps.graph.states[node] for node in nodes)
        return Line(states, steps.way_to(nodes[-1]), len(nodes) - 1)

    def after_error(self) -> Result:
        """The result after an error."""
        return self.result()

    def recent_certainty(self) -> float | None:
        """Probability that no path is better than the best known one."""
        return self._search.belief_over_steps.certainty()
