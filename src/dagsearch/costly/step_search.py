"""The search of a problem with costly steps: ask for a step, tell what it has led to."""

import math
from collections.abc import Iterator, Sequence
from os import PathLike
from typing import Any, Self

import numpy as np

from dagsearch._internal.checks import seed_of
from dagsearch._internal.deadline import Deadline
from dagsearch._internal.texts import shown
from dagsearch._internal.wiring import wiring
from dagsearch.costly.edges import FAILED, PENDING, UNTAKEN, Edges, checked_step
from dagsearch.costly.frontier import Frontier
from dagsearch.costly.model import StepModel
from dagsearch.data import Data
from dagsearch.errors import ProblemError, SearchExhausted
from dagsearch.problem import Action, Edge, Step, StepProblem, check_members
from dagsearch.recorder import Recorder
from dagsearch.results import Evaluation, Gaussian, Proposal, Result, StepProposal
from dagsearch.session import Session
from dagsearch.space import Space


class StepSearch(Session[StepProposal]):
    """A search of a problem with costly steps.

    It asks for steps and is told a :class:`dagsearch.Step` for each. :func:`dagsearch.search` runs one if a
    problem has ``expand``. ``docs/costly.md`` explains it.

    Parameters
    ----------
    problem : StepProblem
        What to search.
    seed : int, numpy Generator or None
        Source of all randomness: proposal number i draws from ``numpy.random.default_rng([seed, i])``.
    journal : path, optional
        File that records every event, so that :meth:`resume` can continue after a crash. It must not exist
        yet.
    """

    def __init__(
        self,
        problem: StepProblem | Space,
        *,
        seed: int | np.random.Generator | None = None,
        journal: str | PathLike[str] | None = None,
    ) -> None:
        space = Space.of(problem)  # type: ignore[arg-type]
        check_members(space.problem, costly=True)
        self.edges = Edges(space)
        """The explored part: V, R, and the steps that can be taken."""
        self.model = StepModel(self.edges)
        """What is believed of the steps that were not taken."""
        self.seed, self.asked = seed_of(seed), 0
        self._frontier = Frontier(self.edges, self.model)
        self._exhausted: list[int] = []  # edges that the next event says are closed
        self._spent = 0.0
        self.problem, self.space, self.deadline = space.problem, space, Deadline()
        self.data, self.recorder = Data(space.key), Recorder()
        wiring.record(self, journal, "StepSearch", {})

    # Asking and telling ----------------------------------------------------------------------------------

    def _ask(self) -> StepProposal:
        """The next proposal; one whose step was cut off comes first."""
        if (offered := self.data.next_offered()) is not None:
            assert isinstance(offered, StepProposal)
            return offered
        edges = self.edges
        with self.recorder.deciding():
            while edges.open.any():
                rng = np.random.default_rng([self.seed, self.asked])
                edge, begins = self._frontier.choose(rng, any(one.begins for one in self.pending))
                drawn = edges.is_unnamed(edge)
                if edges.draw(edge):
                    exhausted, self._exhausted = self._exhausted, []
                    proposal = self._propose(edge, begins, drawn, exhausted)
                    self.recorder.asked(proposal)
                    return proposal
                self._exhausted.append(edge)
        raise SearchExhausted("every step has been taken or asked for")

    def _propose(self, edge: int, begins: bool, drawn: bool, exhausted: Sequence[int]) -> StepProposal:
        """The proposal of an edge that is pending from now on."""
        self.model.grow()
        node, action = int(self.edges.node[edge]), self.edges.actions[edge]
        step, way = Edge(self.edges.states[node], action), (*self.edges.actions_to(node), action)
        cost = float(self.edges.cost[edge])
        proposal = StepProposal(step, way, (), cost, edge, begins, drawn, tuple(exhausted))
        self.data.pending.append(proposal)
        self.asked += 1
        return proposal

    def repeat_ask(self, edge: int, begins: bool, drawn: Sequence[Action], exhausted: Sequence[int]) -> None:
        """Make an edge pending that was asked for in the search that wrote a journal.

        ``drawn`` holds the action that its iterator named then, which is not asked again.
        """
        edges = self.edges
        edges.became[list(exhausted)] = FAILED
        if not 0 <= edge < edges.count or edges.is_unnamed(edge) != bool(drawn) or not edges.open[edge]:
            raise ProblemError(f"step {edge} cannot be taken")
        edges.draw(edge, drawn)
        self._propose(edge, begins, bool(drawn), exhausted)

    def tell(self, proposal: Proposal, step: Step, *, note: Any = None) -> Evaluation:
        """Learn what a step has led to.

        Parameters
        ----------
        proposal : StepProposal
            The step that was asked for.
        step : Step
            What it has led to: ``problem.expand(proposal.state, proposal.action)``.
        note : optional
            Anything; it is written to the journal with the step, as text where JSON has no such type.
        """
        return self.take(proposal, step, self.data.clock(), note)

    def take(self, proposal: Proposal, step: Step, seconds: float, note: Any = None) -> Evaluation:
        """Learn what a step has led to that is told after ``seconds`` of the search."""
        place, edges = self._place(proposal), self.edges
        pending = self.pending[place]
        where = f"expand({shown(pending.state)}, {shown(pending.action)})"
        arrival = edges.describe(checked_step(step, where))  # raises before anything changes
        reward = self._reward_of(pending.number, arrival.step)
        known = edges.find(arrival.step.state)
        state = arrival.step.state if known < 0 else edges.states[known]
        evaluation = self.data.evaluation(state, pending.actions, reward, seconds)
        self.recorder.told(evaluation, pending, place, arrival.step, note)
        with self.recorder.deciding():
            edges.take(pending.number, arrival)
            self._learn(place)
            self.data.add(evaluation)
        return evaluation

    def _learn(self, place: int) -> None:
        """Learn from a pending step that was taken or has failed."""
        pending = self.pending[place]
        del self.data.pending[place]
        self._spent += pending.cost
        self.model.learn(pending.number)
        self._frontier.learn(pending.number, pending.begins)

    def _reward_of(self, edge: int, step: Step) -> float:
        """What the best known path by way of a step earns; −∞ until the path reaches a state with a value."""
        edges, node = self.edges, int(self.edges.node[edge])
        child = edges.find(step.state)
        value = -math.inf if step.value is None else step.value
        if child >= 0 and edges.is_above(child, node):  # the way there is longer than necessary
            return float(edges.reach[child] + edges.stop[child])
        known = -math.inf if child < 0 else float(edges.best_below[child])
        return float(edges.reach[node]) + step.gain + max(value, known)

    def _place(self, proposal: Proposal) -> int:
        """The place of a proposal, or of one for the same step, among the pending ones."""
        if not isinstance(proposal, StepProposal):
            raise ValueError(f"tell needs a proposal of ask(), got {shown(proposal)}")
        for place, other in enumerate(self.pending):
            if other.number == proposal.number and self.space.same(other.state, proposal.state):
                return place
        raise ValueError(f"{proposal!r} is not pending: it was told, taken back or never asked for")

    def forget(self, proposal: Proposal, *, again: bool = True, note: Any = None) -> None:
        """Take back a pending step whose outcome will not come.

        ``again`` says whether it may be asked for again; if not, it counts as failed.
        """
        place = self._place(proposal)
        self.recorder.forgotten(place, again, note)
        self.edges.became[self.pending[place].number] = UNTAKEN if again else FAILED
        if again:
            del self.data.pending[place]
        else:
            self._learn(place)

    @classmethod
    def resume(cls, journal: str | PathLike[str], problem: StepProblem) -> Self:
        """The search that wrote a journal, as it was after the last event; it continues to write there.

        Steps that were pending are offered again: :meth:`ask` returns them first.
        """
        return wiring.resume(cls, journal, problem, {})  # type: ignore[no-any-return]

    # Running ----------------------------------------------------------------------------------------------

    def steps(self, budget: int, stop: Any = None, **execution: Any) -> Iterator[Evaluation]:
        """Take steps that cost ``budget`` together, one per iteration; all workers work at the same time.

        The other arguments are those of :meth:`Search.steps`. A step that fails is not taken again, and
        counts. ``on_error`` is ``"raise"`` or ``"skip"``: a failed step has no reward that could be told.
        """
        if not isinstance(execution.get("on_error", "raise"), str):
            raise ValueError(
                "on_error must be 'raise' or 'skip': a failed step has no reward that could be told"
            )
        if stop is not None and stop.tolerance is not None:
            raise ValueError("tolerance does not apply to costly steps, for which there is no forecast")
        return wiring.steps(self, budget, stop, **execution)  # type: ignore[no-any-return]

    @property
    def spent(self) -> int:
        """What the steps so far have taken of the budget."""
        return math.ceil(self._spent)

    # What is known -----------------------------------------------------------------------------------------

    def result(self) -> Result:
        """The result so far."""
        edges, best = self.edges, self.edges.best_node()
        stopped, history = self.data.stopped, tuple(self.history)
        if best < 0:
            return Result(None, None, None, None, None, stopped, history, steps=True)
        exhausted = not np.any(edges.became[: edges.count] <= PENDING)
        found = edges.states[best], edges.actions_to(best), edges.best
        certain = 1.0 if exhausted else None
        return Result(*found, Gaussian(edges.best, 0.0), certain, stopped, history, steps=True)
