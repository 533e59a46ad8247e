"""The search of a problem with costly steps: ask for a step, tell its result."""

import math
from collections.abc import Sequence
from dataclasses import replace
from os import PathLike
from typing import Any, Self

import numpy as np

from dagsearch._internal.checks import seed_of
from dagsearch._internal.deadline import Deadline
from dagsearch._internal.texts import shown
from dagsearch._internal.wiring import wiring
from dagsearch.costly.edges import EXHAUSTED, FAILED, PENDING, UNTAKEN, Another, Edges, checked_step
from dagsearch.costly.frontier import Frontier
from dagsearch.costly.model import StepModel
from dagsearch.data import Data
from dagsearch.errors import ProblemError, SearchExhausted
from dagsearch.log import Log
from dagsearch.problem import Action, Edge, Step, StepProblem, check_members
from dagsearch.results import Evaluation, Gaussian, Proposal, Result, StepProposal
from dagsearch.session import Session
from dagsearch.space import Space


class StepSearch(Session[StepProposal]):
    """A search of a problem with costly steps.

    It proposes steps and learns from the :class:`dagsearch.Step` that each returns.
    :func:`dagsearch.search` uses it for problems with ``expand``. See ``docs/costly.md``.

    Parameters
    ----------
    problem : StepProblem
        The problem.
    seed : int, numpy Generator or None
        Source of all randomness: proposal number i draws from ``numpy.random.default_rng([seed, i])``.
    storage, name : optional
        Where to log events, as for :class:`dagsearch.Search`.
    """

    def __init__(
        self,
        problem: StepProblem | Space,
        *,
        seed: int | np.random.Generator | None = None,
        storage: str | PathLike[str] | None = None,
        name: str | None = None,
    ) -> None:
        space = Space.of(problem)  # type: ignore[arg-type]
        check_members(space.problem, costly=True)
        self.edges = Edges(space)
        """The explored part: V, R, and the open steps."""
        self.model = StepModel(self.edges)
        """The belief over steps that have not been taken."""
        self.seed, self.asked = seed_of(seed), 0
        self._frontier = Frontier(self.edges, self.model)
        self._exhausted: list[int] = []  # edges to close with the next event
        self._spent = 0.0
        self.problem, self.space, self.deadline = space.problem, space, Deadline()
        self.data, self.log = Data(space.key), Log()
        wiring.attach(self, storage, name, "StepSearch", {})

    # Asking and telling ----------------------------------------------------------------------------------

    def try_ask(self) -> StepProposal | None:
        if (left := self.log.take_over() or self.data.next_offered()) is not None or self.log.overtaken:
            assert left is None or isinstance(left, StepProposal)
            return left
        edges = self.edges
        while edges.open.any():
            with self.log.deciding():
                rng = np.random.default_rng([self.seed, self.asked])
                edge, plan = self._frontier.choose(rng)
                if (action := edges.action(edge)) is Another:
                    edges.became[edge] = EXHAUSTED
                    self._exhausted.append(edge)
                    continue
                proposal = self._proposal(edge, action, plan)
                number = self.log.write("ask", proposal, self.asked)
                if number is None:
                    return None
                self._exhausted = []
                return self._accept(proposal, number)
        raise SearchExhausted("every step has been taken or asked for")

    def _proposal(self, edge: int, action: Action, plan: tuple[int, ...] | None) -> StepProposal:
        edges, node = self.edges, int(self.edges.node[edge])
        step, way = Edge(edges.states[node], action), (*edges.actions_to(node), action)
        drawn = edges.is_unnamed(edge)
        cost, exhausted = edges.cost_of(*step) if drawn else float(edges.cost[edge]), tuple(self._exhausted)
        return StepProposal(step, way, cost=cost, edge=edge, plan=plan, drawn=drawn, exhausted=exhausted)

    def _accept(self, proposal: StepProposal, number: int) -> StepProposal:
        """Make a proposal pending, with its number in the log."""
        self.edges.ask(proposal.edge, proposal.action)
        if proposal.drawn:
            self.model.effect.update()  # for the iterator's next edge
        self._frontier.asked(proposal.edge, proposal.plan)
        self.asked += 1
        self.data.pending.append(proposal := replace(proposal, number=number))
        return proposal

    def repeat_ask(
        self,
        number: int,
        edge: int,
        plan: Sequence[int] | None,
        drawn: Sequence[Action],
        exhausted: Sequence[int],
    ) -> None:
        """Make an edge pending that event ``number`` has asked for in another process.

        ``drawn`` holds the action that its iterator yielded there; the iterator here is not advanced.
        """
        edges = self.edges
        edges.became[list(exhausted)] = EXHAUSTED
        if not 0 <= edge < edges.count or edges.is_unnamed(edge) != bool(drawn) or not edges.open[edge]:
            raise ProblemError(f"step {edge} cannot be taken")
        action, plan = [*drawn, edges.actions[edge]][0], None if plan is None else tuple(plan)
        self._accept(self._proposal(edge, action, plan), number)

    def tell(
        self, proposal: Proposal, step: Step, *, note: Any = None, seconds: float | None = None
    ) -> Evaluation:
        """Learn the result of a step.

        Parameters
        ----------
        proposal : StepProposal
            The step that was asked for.
        step : Step
            Its result: ``problem.expand(proposal.state, proposal.action)``.
        note : optional
            Anything; it is stored with the step, as text if JSON has no such type.
        seconds : float, optional
            Time since the start of the search; by default now.
        """
        self._catch_up_before(f"{shown(step)}, the result of {shown(proposal)},")
        place, edges = self._place(proposal), self.edges
        pending = self.pending[place]
        where = f"expand({shown(pending.state)}, {shown(pending.action)})"
        arrival = edges.describe(checked_step(step, where))  # raises before anything changes
        reward = self._reward_of(pending.edge, arrival.step)
        known = edges.find(arrival.step.state)
        state = arrival.step.state if known < 0 else edges.states[known]
        seconds = self.data.clock() if seconds is None else seconds
        evaluation = self.data.evaluation(state, pending.actions, reward, seconds)
        if self.log.write("tell", evaluation, pending, arrival.step, note=note) is None:
            self.log.catch_up()  # others were first, perhaps with this step, if they have taken it over
            return next(one for one in reversed(self.history) if one.actions == pending.actions)
        with self.log.deciding():
            edges.take(pending.edge, arrival)
            self._learn(place)
            self.data.add(evaluation)
        return evaluation

    def _learn(self, place: int) -> None:
        pending = self.pending[place]
        del self.data.pending[place]
        self._spent += pending.cost
        self.model.learn(pending.edge)
        self._frontier.learn(pending.edge, pending.plan)

    def _reward_of(self, edge: int, step: Step) -> float:
        """Earnings of the best known path through a step; −∞ until it reaches a state with a value."""
        edges, node = self.edges, int(self.edges.node[edge])
        child = edges.find(step.state)
        value = -math.inf if step.value is None else step.value
        if child >= 0 and edges.is_above(child, node):  # a detour
            return float(edges.reach[child] + edges.stop[child])
        known = -math.inf if child < 0 else float(edges.best_below[child])
        return float(edges.reach[node]) + step.gain + max(value, known)

    def _place(self, proposal: Proposal) -> int:
        """The place of a proposal, or of one for the same step, among the pending ones."""
        if not isinstance(proposal, StepProposal):
            raise ValueError(f"tell needs a proposal of ask(), got {shown(proposal)}")
        for place, other in enumerate(self.pending):
            if other.edge == proposal.edge and self.space.same(other.state, proposal.state):
                return place
        raise ValueError(f"{proposal!r} is not pending: it was completed, taken back or never asked for")

    def forget(self, proposal: Proposal, *, again: bool = True, note: Any = None) -> None:
        """Take back a pending step whose result will not come.

        With ``again`` it may be asked for again; otherwise it counts as failed.
        """
        self.log.catch_up()
        place = self._place(proposal)
        if self.log.write("forget", self.pending[place], None, again=again, note=note) is None:
            self.log.catch_up()  # another process has taken the step over and completed it
            return
        self.edges.became[self.pending[place].edge] = UNTAKEN if again else FAILED
        if again:
            del self.data.pending[place]
        else:
            self._learn(place)

    @classmethod
    def resume(cls, storage: str | PathLike[str], problem: StepProblem, *, name: str | None = None) -> Self:
        """The search of a stored run, in its state after the last event.

        :meth:`ask` first returns steps that were pending in processes that have ended.
        """
        return wiring.resume(cls, storage, problem, name, {})  # type: ignore[no-any-return]

    @property
    def spent(self) -> int:
        """The part of the budget that is used up."""
        return math.ceil(self._spent)

    # What is known -----------------------------------------------------------------------------------------

    def result(self) -> Result:
        """The result so far."""
        edges, nodes = self.edges, self.edges.nodes
        best = int(np.argmax(edges.reach[:nodes] + edges.stop[:nodes]))
        stopped, history = self.data.stopped, tuple(self.history)
        if edges.best == -math.inf:  # no path can end yet
            return Result(None, None, None, None, None, stopped, history, steps=True)
        exhausted = not np.any(edges.became[: edges.count] <= PENDING)
        found = edges.states[best], edges.actions_to(best), edges.best
        certain = 1.0 if exhausted else None
        return Result(*found, Gaussian(edges.best, 0.0), certain, stopped, history, steps=True)
