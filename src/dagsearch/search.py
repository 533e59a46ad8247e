"""The search over leaves, with ask and tell."""

import inspect
import logging
from collections.abc import Sequence
from contextlib import suppress
from dataclasses import replace
from os import PathLike
from typing import Any, Self, cast

import numpy as np

from dagsearch._internal.checks import check, checked_flag, seed_of
from dagsearch._internal.deadline import OutOfTime
from dagsearch._internal.hints import did_you_mean
from dagsearch._internal.texts import shown
from dagsearch._internal.threads import one_thread
from dagsearch._internal.wiring import wiring
from dagsearch.covariances import Covariance
from dagsearch.data import Data, Rewards, accuracy
from dagsearch.errors import ProblemError, SearchExhausted
from dagsearch.forecasts import Forecast, forecast, progress_of
from dagsearch.log import Log
from dagsearch.methods import INITIAL, PRESETS, check_parts, default_parts, paper_parts, standardized
from dagsearch.posterior.base import Scores, checked_noise
from dagsearch.posterior.evidence import Evidence
from dagsearch.posterior.index import Index
from dagsearch.posterior.posterior import Posterior
from dagsearch.posterior.units import Episode, checked_reward
from dagsearch.problem import Action, Children, Problem, State
from dagsearch.proposers.base import Proposer, View
from dagsearch.proposers.parts import next_part
from dagsearch.proposers.portfolio import Portfolio
from dagsearch.proposers.remaining import Remaining
from dagsearch.results import Belief, Evaluation, Gaussian, Line, Proposal, Result
from dagsearch.session import Session
from dagsearch.space import Space
from dagsearch.values.backups import Backup, MomentMatching
from dagsearch.values.explored import Explored
from dagsearch.values.increments import Increments

Seed = int | np.random.Generator | None

logger = logging.getLogger(__name__)


class Search(Session[Proposal]):
    """A search over the leaves of a problem: one posterior, and proposers that take turns.

    :meth:`default` composes the method behind :func:`dagsearch.search`, :meth:`paper` the paper's. This
    constructor takes the parts themselves.

    Parameters
    ----------
    problem : Problem
        What to search.
    scores : Scores
        Belief over the generative scores. It must be new: the search changes it.
    proposers : Proposer, sequence of Proposer or Portfolio
        How leaves are chosen; several take turns.
    backup : Backup, optional
        How a descent computes values from scores; by default by moment matching.
    increments : Increments, optional
        Δ by level, for a descent; by default computed from the problem and the covariance.
    evidence : Evidence, optional
        Learns the covariance's hyperparameters; all rewards are then standardised again. By default the
        hyperparameters stay fixed. With ``repeats`` the noise is learnt too, and the best leaf is the one
        with the largest mean g instead of the largest reward.
    standardize : int
        Number of initial random leaves. The mean and standard deviation of their rewards standardise all
        rewards. They count as evaluations, and the model learns from them. Until the last of them is
        reported, beliefs equal the prior. 0, the default, leaves rewards unscaled.
    repeats : bool
        Whether a leaf may be evaluated again; true by default. If not, the search ends when every leaf has
        been evaluated.
    seed : int, numpy Generator or None
        Source of all randomness: proposal number i draws from ``numpy.random.default_rng([seed, i])``.
    storage, name : optional
        Where every event is logged, as for :func:`dagsearch.search`. ``docs/runs.md`` lists the guarantees.
    """

    @one_thread
    def __init__(
        self,
        problem: Problem | Space,
        *,
        scores: Scores,
        proposers: Proposer | Sequence[Proposer] | Portfolio,
        backup: Backup | None = None,
        increments: Increments | None = None,
        evidence: Evidence | None = None,
        standardize: int = 0,
        repeats: bool = True,
        seed: Seed = None,
        storage: str | PathLike[str] | None = None,
        name: str | None = None,
    ) -> None:
        self.portfolio = Portfolio.of(proposers, standardize)
        space = Space.of(problem)
        check_parts(space, scores, self.portfolio, backup, increments, evidence)
        descent, self.explored = self.portfolio.descent, cast(Explored | None, None)
        """The DAG that descents have explored, with values that may be stale; ``None`` without descents."""
        if descent is None:
            self.index = Index(space, scores)
        else:
            self.index = self.explored = Explored(space, scores, backup or MomentMatching(), increments)
        self.posterior = Posterior(self.index, evidence, standardize, repeats)
        self.data = Data(self.index.key)
        self.problem, self.space, self.deadline = space.problem, space, self.index.deadline
        self.repeats, self.seed, self.asked = repeats, seed_of(seed), 0
        known = self.posterior, self.index, self.data, Remaining(self.index)
        self._view = View(*known, self._best_of, cast(Explored, self.explored), self.data.part(0))
        self.log_with(Log())
        if self.explored is not None:
            self.explored.current()
        parts = {"scores": scores, "proposers": proposers, "backup": backup, "evidence": evidence}
        wiring.attach(
            self, storage, name, "Search", {**parts, "standardize": standardize, "repeats": repeats}
        )

    # Asking and telling ----------------------------------------------------------------------------

    def _next(self) -> Proposal:
        """The leaf that the first proposer to find one proposes."""
        if not self.repeats and self.explored is None:
            part = next_part(self.data.parts, self.posterior.part)
            if part != self.posterior.part:
                self.posterior.enter(part)
                self.portfolio.begin(self.data.part(part))
        if self.posterior.fantasise([proposal.leaf for proposal in self.data.pending]):
            self.index.outdated()
        self._view.part = self.data.part(self.posterior.part)
        rng = np.random.default_rng([self.seed, self.asked])
        for proposer in self.portfolio.turn(self._view, rng):
            found = proposer.propose(self._view, rng)
            if found is not None:
                return found
        raise SearchExhausted("every leaf has been evaluated or asked for")

    def _learn(self, episodes: Sequence[Episode]) -> None:
        """Condition the posterior on rewards; values read from then on include them."""
        refused = self.posterior.condition(episodes)
        self.index.learnt(episodes)
        if refused:
            raise refused[0]

    @one_thread
    def try_ask(self) -> Proposal | None:
        if (left := self.log.take_over() or self.data.next_offered()) is not None or self.log.overtaken:
            return left
        with self.log.deciding():
            proposal = self.decide()
            number = self.log.write("ask", proposal, self.asked)
            if number is not None:
                return self.accept(proposal, number)
            self.withdraw(proposal)
        return None

    def decide(self) -> Proposal:
        """The next proposal; it is not pending yet."""
        self._turn = self.turn
        try:
            return self._avoiding_pending()
        except (SearchExhausted, OutOfTime) as over:
            self.turn = self._turn  # it was not used, and other processes do not know about it
            if isinstance(over, SearchExhausted):  # no further reward will arrive
                self.settle(exhausted=True)
            raise

    @property
    def turn(self) -> tuple[int, ...]:
        """Whose turn it is, the number of random leaves left, and the part of the search."""
        return *self.portfolio.state, self.posterior.part

    @turn.setter
    def turn(self, turn: Sequence[int]) -> None:
        first, initial, part = (*turn, 0)[:3]  # earlier versions had one part
        self.portfolio.state = first, initial
        self.posterior.enter(part)

    def accept(self, proposal: Proposal, number: int) -> Proposal:
        """Make a decided proposal pending, under the number that the log gives it."""
        self.asked += 1
        return self.add_pending(replace(proposal, number=number, part=self.posterior.part))

    def withdraw(self, proposal: Proposal) -> None:
        """Discard a decided proposal; nodes that its descent added to the DAG stay."""
        self.turn = self._turn
        self.index.leave(proposal.path)

    def add_pending(self, proposal: Proposal) -> Proposal:
        """Make a proposal pending."""
        self.space.remember(proposal.actions)
        row = self.index.node(proposal.leaf)
        if not self.repeats:  # no leaf is asked for twice, even if its reward arrives late or never
            self.index.table.closed[row] = True
        self.index.outdated()  # a descent has added to the DAG
        self.data.pending.append(proposal)
        return proposal

    def _avoiding_pending(self) -> Proposal:
        """A leaf that is not pending, if there is one."""
        if not self.repeats or not self.data.pending:
            return self._next()
        pending = self.index.nodes([proposal.leaf for proposal in self.data.pending])
        closed = self.index.table.closed[pending].tolist()  # true where an evaluation has failed
        self.index.table.closed[pending] = True
        try:
            with suppress(SearchExhausted):
                return self._next()
        finally:
            self.index.reopen([row for row, before in zip(pending, closed, strict=True) if not before])
        return self._next()

    @one_thread
    def tell(
        self,
        evaluated: Proposal | State,
        reward: float,
        noise: float | None = None,
        *,
        leaf: State = None,
        note: Any = None,
        known: bool = False,
        seconds: float | None = None,
    ) -> Evaluation:
        """Learn a leaf's reward.

        Parameters
        ----------
        evaluated : Proposal or leaf
            The evaluated proposal, or any leaf, asked for or not. A leaf may be written in plain types:
            named choices as a dictionary, a subset, order or sequence as a list.
        reward : float
            Its reward. A reward that is not finite raises an error, and the model stays unchanged. Two
            different rewards of one leaf log a warning if the search assumes rewards without noise.
        noise : float, optional
            Noise variance of this reward, in squared units of the reward; by default the model's.
        leaf : optional
            The leaf that was actually evaluated, if it may differ from the proposal's, as returned by
            :meth:`dagsearch.problems.FunctionProblem.evaluate`.
        note : optional
            Any object, stored with the reward; as text where JSON has no such type.
        known : bool
            Whether the reward was known before the run; it then does not count as an evaluation.
        seconds : float, optional
            Time of the report, in seconds from the start of the search; by default now.
        """
        given = evaluated.leaf if isinstance(evaluated, Proposal) else evaluated
        self._catch_up_before(f"the reward {reward!r} of {shown(given if leaf is None else leaf)}")
        if leaf is None:  # other processes may have learnt how to read it
            leaf = given if isinstance(evaluated, Proposal) else self.space.as_leaf(given)
        reward = checked_reward(reward, leaf)
        noise = None if noise is None else checked_noise(noise)
        seconds = self.data.clock() if seconds is None else seconds
        if isinstance(evaluated, Proposal):
            self.space.remember(evaluated.actions)
        leaf = self.space.learn(leaf)
        row = self.index.leaf(leaf)
        proposal, pending = self._asked(evaluated, leaf)
        asked = proposal if pending is None else self.data.pending[pending]
        asked_by = None if pending is None else self.data.pending[pending].part
        part = self.posterior.part if asked_by is None else asked_by
        self.without_fantasies()
        before = [] if self.repeats or not self.index.table.closed[row] else self.data.of_leaf(row)
        if before and reward not in before:
            logger.warning(
                "%r has the rewards %.6g and %.6g, but the search assumes rewards without noise: make it "
                "with noisy=True, or take a wrong reward back with forget(leaf)",
                *(leaf, before[0], reward),
            )
        believed = self.posterior.evidence is not None and part == self.posterior.part
        predicted = self.posterior.of_reward(row, noise) if believed else None
        actions = proposal.actions if proposal is not None else self._way(leaf)
        if self.space.by_run is not None:
            actions = tuple(self.space.actions_to(leaf))
        path = () if proposal is None else proposal.path
        evaluation = self.data.evaluation(
            *(leaf, actions, reward, seconds),
            predicted=predicted,
            known=known,
            row=row,
            part=part,
            asked=asked_by is not None,
        )
        # Stored before the model learns from it: the evaluation was expensive.
        if self.log.write("tell", evaluation, asked, noise, note=note, by_leaf=proposal is None) is None:
            self.log.catch_up()  # others reported first, perhaps this very leaf, if they took it over
            return next(one for one in reversed(self.history) if self.space.same(one.leaf, leaf))
        with self.log.deciding():
            if pending is not None:
                del self.data.pending[pending]
            self.index.table.closed[row] = not self.repeats
            self.data.add(evaluation)
            ready = self.posterior.admit(Episode(path, row, reward, noise, leaf), part)
            covariance = self.posterior.scores.covariance
            if self.space.grow() and covariance is not None and covariance.reads_codes:
                self.posterior.rebind(standardized(covariance.bind(self.space), self.space), len(ready))
            self._learn(ready)
        return evaluation

    def _asked(self, evaluated: Proposal | State, leaf: State) -> tuple[Proposal | None, int | None]:
        """The evaluated proposal, if its actions lead to its leaf, and its place among the pending ones."""
        if not isinstance(evaluated, Proposal):
            return None, self.data.find(leaf)
        place = self.data.find(evaluated.leaf, evaluated)
        if place is not None and evaluated.actions in (self.data.pending[place].actions, ()):
            return self.data.pending[place], place
        if self.space.leads(evaluated.actions, evaluated.leaf):
            return replace(evaluated, path=()), place
        return None, place

    def _way(self, leaf: State) -> tuple[Action, ...] | None:
        """The actions to a leaf that was reported without any; ``None`` if they are not known."""
        with suppress(Exception):  # the problem's own methods may fail; the reward is learnt in any case
            actions = tuple(self.space.actions_to(leaf))
            if self.space.leads(actions, leaf):
                self.space.remember(actions)
                return actions
        return None

    def propose(self, leaf: State, actions: Sequence[Action] | None = None, note: Any = None) -> Proposal:
        """Make a leaf of your choice pending, as if it had been asked for.

        ``actions`` lead from the root to the leaf; omit them if the problem knows them, as the ready-made
        problems do. As in :meth:`tell`, the leaf may be written in plain types. ``note`` is stored with it.
        """
        proposal = self.checked_proposal(leaf, actions)
        number = cast(int, self.log.write("ask", proposal, None, note=note))  # nobody else claims it
        return self.add_pending(replace(proposal, number=number))

    def checked_proposal(self, leaf: State, actions: Sequence[Action] | None = None) -> Proposal:
        """A leaf of the user's choice as a proposal that is not pending; raises if it cannot be evaluated."""
        leaf = self.space.as_leaf(leaf)
        proposal = Proposal(leaf, tuple(self.space.actions_to(leaf) if actions is None else actions))
        if not self.space.leads(proposal.actions, leaf):
            raise ProblemError(
                f"cannot propose {leaf!r}: the actions {proposal.actions!r} do not lead there from the root, "
                "or it is not a leaf that may be evaluated. Give the actions from the root to the leaf"
            )
        self.index.leaf(leaf)  # raises if it is not a leaf
        return proposal

    @one_thread
    def forget(
        self, evaluated: Proposal | State, *, again: bool = True, leaf: State = None, note: Any = None
    ) -> None:
        """Take back a pending proposal whose reward will not arrive, or every reward of a leaf.

        Parameters
        ----------
        evaluated : Proposal or leaf
            A pending proposal; or a leaf with a wrong reward, which the search then unlearns.
        again : bool
            Whether the leaf may be asked for again.
        leaf : optional
            The leaf that has failed, if it may differ from the proposal's.
        note : optional
            Any object, stored with the event.
        """
        self.log.catch_up()
        if not isinstance(evaluated, Proposal):
            return self._untell(self.space.as_leaf(evaluated), again, note)
        index = self.data.find(evaluated.leaf, evaluated)
        if index is None:
            raise ValueError(f"{evaluated!r} is not pending: it was reported, taken back or never asked for")
        self.without_fantasies()
        if self.log.write("forget", self.data.pending[index], leaf, again=again, note=note) is None:
            return self.log.catch_up()  # another process has taken the leaf over and reported its reward
        proposal = self.data.pending.pop(index)
        row = self.index.find(proposal.leaf)
        self.index.leave(proposal.path)
        if not again:
            rows = [row] if leaf is None else [row, self.index.leaf(self.space.learn(leaf, failed=True))]
            self.index.table.closed[rows] = True
            self.data.failed += 1
            if episodes := self.posterior.missed():
                with self.log.deciding():
                    self._learn(episodes)
        elif not self.repeats:
            self.index.reopen([row])
        return None

    def _untell(self, leaf: State, again: bool, note: Any) -> None:
        """Unlearn every reward of a leaf."""
        row = self.index.find(leaf)
        if not self.data.of_leaf(row):
            raise ValueError(f"{leaf!r} has no reward to take back")
        if not self.posterior.scores.is_joint or self.explored is not None:
            raise ValueError(
                "only a search with a model of g and without descents can take a reward back: a descent's "
                "sums cannot be undone. Make a new search, and tell it the other rewards"
            )
        self.without_fantasies()
        self.log.write("untell", leaf, again=again, note=note)
        with self.log.deciding():
            self.posterior.forget(row)
            self.data.remove(leaf)
            if again:
                self.index.reopen([row])

    @one_thread
    def settle(self, exhausted: bool = False) -> None:
        """Learn from rewards that are held back until more of them can be standardised together.

        ``exhausted`` means that an ask has found no leaf.
        """
        self.log.write("settle", exhausted=exhausted)
        with self.log.deciding():
            self._learn(self.posterior.settle())

    def without_fantasies(self) -> None:
        """Stop counting pending leaves as observed."""
        if self.posterior.discard_fantasies():
            self.index.outdated()

    def log_with(self, log: Log) -> None:
        """Report all further events to a log."""
        self.log = self.posterior.log = log

    # Methods -----------------------------------------------------------------------------------------

    @classmethod
    @one_thread
    def paper(
        cls,
        problem: Problem,
        *,
        preset: str | None = None,
        seed: Seed = None,
        storage: str | PathLike[str] | None = None,
        name: str | None = None,
        **settings: Any,
    ) -> Self:
        """The method of the paper, with its settings as arguments.

        Parameters
        ----------
        problem, seed, storage, name
            See :class:`Search`.
        preset : "synthetic", "tictactoe" or "mnist", optional
            The settings of one of the paper's experiments; other arguments override them.
        c : float, optional
            Scale of the covariance: p(g) = N(μ, c Σ). One over the problem's depth by default (the paper's
            choice for standardised rewards), 1 if ``covariance`` is given.
        noise : float, optional
            Variance λ of a reward; 1e-4 by default.
        beta : float, optional
            Exploration constant β; 1 by default.
        covariance : Covariance, optional
            Σ; by default the problem's own, else the number of shared items plus private variance 1.
        mean : float
            Prior mean μ of the generative scores.
        step_variance : float or sequence of float, optional
            Variance of the step ξ to a child, from which Δ is computed: one for all levels, or one per
            level; by default the covariance's own, measured on random paths. The paper prints ``c``.
        increment_prior : (mean, variance), optional
            Prior on Δ at every level.
        backup : Backup, optional
            ``backups.Softmax()`` for the simplified method. By default moment matching, with a standard
            normal prior on inner values if all children are added at once. If they are added one by one,
            the prior would make visited nodes look worse than siblings outside the DAG.
        expansion : Expansion, optional
            ``AllChildren()`` or ``OneChild()``; by default the latter where nodes have many children.
        standardize : int, optional
            Number of initial roll-outs that standardise the rewards; 0 by default.

        Examples
        --------
        >>> from dagsearch.problems import TicTacToe
        >>> search = Search.paper(TicTacToe(), preset="tictactoe", seed=0)
        >>> search.run(150).best_reward  # a draw
        0.0
        """
        if preset is not None:
            check(preset in PRESETS, "preset", f"one of {', '.join(map(repr, PRESETS))}", preset)
            settings = {**PRESETS[preset], **settings}
        known = inspect.signature(paper_parts).parameters
        for setting in settings.keys() - known.keys():
            hint = did_you_mean(setting, known, f"there are {', '.join(known)}")
            raise TypeError(f"{setting!r} is not a setting of Search.paper: {hint}")
        space = Space.of(problem)
        search = cls(space, seed=seed, **paper_parts(space, **settings))
        wiring.attach(search, storage, name, "Search.paper", settings)
        return search

    @classmethod
    @one_thread
    def default(
        cls,
        problem: Problem,
        *,
        covariance: Covariance | None = None,
        noisy: bool = False,
        initial: int = INITIAL,
        seed: Seed = None,
        storage: str | PathLike[str] | None = None,
        name: str | None = None,
    ) -> Self:
        """The method of :func:`dagsearch.search`, which documents ``covariance`` and ``noisy``.

        ``initial`` is the number of random leaves to begin with; for the rest see :class:`Search`.
        """
        noisy, space = checked_flag("noisy", noisy), Space.of(problem)
        search = cls(space, seed=seed, **default_parts(space, covariance, noisy, initial))
        settings = {"covariance": covariance, "noisy": noisy, "initial": initial}
        wiring.attach(search, storage, name, "Search.default", settings)
        return search

    @classmethod
    def resume(
        cls, storage: str | PathLike[str], problem: Problem, *, name: str | None = None, **arguments: Any
    ) -> Self:
        """The search of a stored run in its state after the last event, composed of the same parts.

        :meth:`ask` first returns leaves that were pending in a process that has ended. ``arguments`` are the
        search's arguments that cannot be stored, such as a covariance or parts. Numbers and text are stored
        and need not be passed.
        """
        return wiring.resume(cls, storage, problem, name, arguments)  # type: ignore[no-any-return]

    # Beliefs and results -------------------------------------------------------------------------------

    @property
    def values(self) -> Explored:
        """The DAG that descents have explored, with current values; raises without descents."""
        if self.explored is None:
            raise ValueError("this search does not descend: it has no DAG and no values v, only scores g")
        self.without_fantasies()
        return self.explored.current()

    @one_thread
    def belief(self, state: State) -> Belief:
        """Beliefs over g and v of any state, in units of the reward; pending leaves are ignored.

        The current part of the search answers, which has learnt only from its own rewards; for a leaf that
        another part has evaluated, the belief is that leaf's reward. v of an inner state is known only in
        searches that descend, such as :meth:`paper`.
        """
        state = self.space.as_leaf(state) if type(state).__hash__ is None else state
        if self.explored is not None:
            return self.values.belief(self.posterior, state)
        self.without_fantasies()
        row = self.index.find(state)
        told = [one for one in self.history if one.row == row]
        if told and all(one.part != self.posterior.part for one in told):  # only another part knows it
            g = Gaussian(told[-1].reward, self.posterior.noise)
        else:
            mean, variance = self.posterior.predict([state])
            g = self.posterior.in_reward_units(Gaussian(float(mean[0]), float(variance[0])))
        return Belief(g, g if len(self.problem.actions(state)) == 0 else None, 0)

    @one_thread
    def best_action(self, state: State) -> Action | None:
        """The action with the best mean value; ``None`` where the explored part ends."""
        descent = self.portfolio.descent
        if descent is None:
            return None
        explored = self.values
        node = explored.find(state)
        if node < 0 or explored.graph.count[node] == 0:
            return None
        options = descent.expansion.options(explored, node)
        assert options is not None
        return options.action(int(np.argmax(descent.policy.value(options))))

    @one_thread
    def recommend(self) -> Line:
        """The path of largest mean v, continued by largest mean g beyond the explored DAG.

        In a search that does not descend, it is the path to the best leaf.
        """
        problem, states, actions, explored = self.problem, [self.problem.root()], list[Action](), 0
        best = None if self.explored is not None else self.incumbent()
        known = () if best is None or best.actions is None else best.actions
        while len(problem.actions(states[-1])) > 0:
            if len(actions) < len(known):
                action: Action | None = known[len(actions)]
            else:
                action = self.best_action(states[-1])
                explored += action is not None
            if action is None:
                children = Children(problem, states[-1], problem.actions(states[-1]))
                mean, _ = self.posterior.predict(children.states)
                action = children.actions[int(np.argmax(self.space.player(states[-1]) * mean))]
            actions.append(action)
            states.append(problem.step(states[-1], actions[-1]))
        return Line(tuple(states), tuple(actions), explored)

    def incumbent(self) -> Evaluation | None:
        """The best evaluation so far: by reward, or by mean g if the noise is learnt."""
        return self._best_of(self.data)

    def _best_of(self, rewards: Rewards) -> Evaluation | None:
        posterior = self.posterior
        if rewards.best is None or not posterior.learns_noise or not posterior.informed:
            return rewards.best
        mean, _ = posterior.moments([one.row for one in rewards.evaluations])
        return rewards.evaluations[int(np.argmax(mean))]

    @one_thread
    def result(self) -> Result:
        """The result so far."""
        data, best = self.data, self.incumbent()
        prior, fit = self.posterior.scores.covariance, accuracy(data.evaluations)
        fields: dict[str, Any] = {
            "stopped": data.stopped,
            "history": tuple(data.evaluations),
            "covariance": None if prior is None else repr(prior),
            "r2": None if fit is None else fit.r2,
            "coverage": None if fit is None else fit.coverage,
        }
        if best is None:
            return Result(None, None, None, None, None, **fields)
        value = None if self.explored is None else self.belief(self.problem.root()).v
        if self.explored is not None and self.explored.graph.adversarial:
            line = self.recommend()
            reward = self.mean_reward(line.states[-1])
            return Result(line.states[-1], line.actions, reward, value, None, **fields, game=True)
        reward = self.mean_reward(best.leaf) if self.posterior.learns_noise else best.reward
        unknown = self.repeats or data.failed > 0 or len(data.pending) > 0
        is_last = not unknown and self._view.remaining.anywhere() is None
        return Result(best.leaf, best.actions, reward, value, 1.0 if is_last else None, **fields)

    def mean_reward(self, leaf: State) -> float | None:
        """Mean reward of a leaf; ``None`` if it was not evaluated."""
        told = self.data.of_leaf(self.index.find(leaf))
        return float(np.mean(told)) if told else None

    def forecast(self, n: int = 1) -> Forecast | None:
        """The expected best reward after ``n`` more evaluations, with a 90 % interval.

        It is computed from the record of the search: how often and by how much the best reward improved, and
        how well rewards were predicted. ``docs/calibration.md`` reports how often such intervals hold. With
        noisy rewards it concerns the largest reward, not the mean of a leaf. ``None`` with fewer than five
        rewards, or if all are equal.

        Examples
        --------
        >>> import dagsearch as ds
        >>> search = ds.Search.default(ds.problems.Subsets(20, 4, reward=sum), seed=0)
        >>> best = search.run(15).best_reward
        >>> ahead = search.forecast(10)
        >>> best <= ahead.low <= ahead.mean <= ahead.high
        True
        """
        told = self.data.evaluations
        progress = progress_of([one.reward for one in told], [one.predicted for one in told])
        return None if progress is None else forecast(progress, n)
