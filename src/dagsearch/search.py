"""The search: ask for a leaf, tell its reward."""

from collections.abc import Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import AbstractContextManager, nullcontext, suppress
from os import PathLike
from typing import Any, Self, Unpack, cast, overload

import numpy as np

from dagsearch._internal.checks import checked_flag, is_whole, seed_of
from dagsearch._internal.deadline import Deadline, OutOfTime
from dagsearch._internal.texts import shown
from dagsearch._internal.threads import one_thread
from dagsearch.answers import LEAVES, SAMPLES, Answers
from dagsearch.covariances import Covariance
from dagsearch.data import Data, Told
from dagsearch.errors import ProblemError, SearchExhausted
from dagsearch.journal.joining import joined_pool
from dagsearch.journal.resume import resume_search, start_journal
from dagsearch.methods import INITIAL, check_parts, default_parts, paper_parts
from dagsearch.optimum import Optimum
from dagsearch.pending import Pending
from dagsearch.posterior.base import MeanFunction, Scores, checked_noise
from dagsearch.posterior.evidence import Evidence
from dagsearch.posterior.posterior import Posterior
from dagsearch.posterior.units import Episode, checked_reward
from dagsearch.problem import Action, Problem, State, StepProblem, has_costly_steps
from dagsearch.proposers.base import Proposer, View
from dagsearch.proposers.expansions import Expansion
from dagsearch.proposers.portfolio import Portfolio
from dagsearch.proposers.remaining import Remaining
from dagsearch.recorder import Recorder
from dagsearch.report.forecasts import Forecast, forecast, progress_of
from dagsearch.results import Belief, Evaluation, Line, Proposal, Result
from dagsearch.run.pools import make_pool
from dagsearch.run.runner import (
    Callback,
    Execution,
    OnError,
    checked_budget,
    checked_callback,
    checked_join,
    checked_on_error,
    checked_steer,
    evaluations,
)
from dagsearch.run.steering import Steered
from dagsearch.run.stopping import Stop
from dagsearch.space import Space
from dagsearch.values.backups import Backup, MomentMatching
from dagsearch.values.explored import Explored
from dagsearch.values.gaussians import Gaussian
from dagsearch.values.increments import Increments
from dagsearch.values.values import Values

Seed = int | np.random.Generator | None
_NOTHING = nullcontext()


class Search:
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
        How values are computed from scores; by default moment matching.
    increments : Increments, optional
        Δ by level; by default computed from the problem and the covariance.
    evidence : Evidence, optional
        Learns the covariance's hyperparameters; all rewards are then standardised again. By default the
        hyperparameters stay as given. With ``repeats`` the noise is learnt too, and the best leaf is the one
        with the best mean g instead of the largest reward.
    standardize : int
        Number of initial random leaves. The mean and standard deviation of their rewards standardise all
        rewards. They count as evaluations, and the model learns from them. Until the last one is told,
        beliefs are those of the prior. 0, the default, uses rewards as they are.
    repeats : bool
        Whether a leaf may be evaluated again; true by default. If not, the search ends when every leaf has
        been evaluated.
    seed : int, numpy Generator or None
        Source of all randomness: proposal number i draws from ``numpy.random.default_rng([seed, i])``.
    journal : path, optional
        File that records every event, so that :meth:`resume` can continue after a crash. It must not exist
        yet. ``docs/durability.md`` says what is promised.
    """

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
        journal: str | PathLike[str] | None = None,
    ) -> None:
        self.portfolio = Portfolio.of(proposers, standardize)
        backup = MomentMatching() if backup is None else backup
        space = Space.of(problem)
        check_parts(space, scores, self.portfolio, backup, evidence)
        self.explored = Explored(space, scores, increments)
        self.posterior = Posterior(self.explored, evidence, standardize, repeats)
        self.explored_values = Values(self.explored, backup)
        self.data = Data(self.explored, self.posterior)
        self.outstanding = Pending(self.posterior, self.explored_values, repeats)
        self.deadline: Deadline = self.explored.deadline
        self.repeats, self.seed = repeats, seed_of(seed)
        self.asked = 0
        """Number of proposals so far; the next one draws from ``default_rng([seed, asked])``."""
        self._view = View(
            self.posterior, self.explored_values, self.data, Remaining(self.explored), self.deadline
        )
        self.answers = Answers(self)
        self.steered = Steered()
        self.record_with(Recorder())
        with self.one_thread():
            self.portfolio.prepare(self._view)
        start_journal(self, journal, "Search", {})

    # Asking and telling ----------------------------------------------------------------------------

    def _next(self) -> Proposal:
        """The leaf that the first proposer to find one proposes; it is pending from now on."""
        self.outstanding.fantasise()
        rng = np.random.default_rng([self.seed, self.asked])
        for proposer in self.portfolio.turn(self._view, rng):
            found = proposer.propose(self._view, rng)
            if found is not None:
                return self.outstanding.add(found)
        raise SearchExhausted("every leaf has been evaluated or asked for")

    def _take(self, told: Told, recorded: Mapping[str, Any] | None = None) -> Evaluation:
        """Learn a reward: add it to the data and the posterior; values read from then on include it."""
        leaf, node, proposal, reward, noise, seconds, known = told
        predicted = self._compare(told)
        self.outstanding.drop(leaf, proposal)
        self.explored.graph.closed[node] = not self.repeats
        actions, path = (self._way(leaf), ()) if proposal is None else (proposal.actions, proposal.path)
        evaluation = self.data.add(leaf, actions, reward, seconds, predicted, known)
        try:
            self._learn(self.posterior.admit(Episode(path, node, reward, noise, leaf)), recorded)
        finally:
            best = self.incumbent()
            evaluation.recommend(None if best is None else best.leaf)
        return evaluation

    def _way(self, leaf: State) -> tuple[Action, ...] | None:
        """The actions to a leaf that was told without any; ``None`` if they are not known."""
        with suppress(Exception):  # the problem's own methods; the reward is worth having in any case
            proposal = Proposal(leaf, tuple(self.space.actions_to(leaf)))
            if self.explored.describes(proposal):
                self.space.remember(proposal.actions)
                return proposal.actions
        return None

    def _learn(self, episodes: Sequence[Episode], recorded: Mapping[str, Any] | None = None) -> None:
        refused = self.posterior.condition(episodes, recorded)
        if self.portfolio.descent is not None:
            # Now, not when they are read: nothing must depend on who looked in between.
            self.posterior.scores.refresh()
            mean = self.posterior.scores.mean
            episodes = [one._replace(residual=one.reward - float(mean[one.leaf])) for one in episodes]
        self.explored_values.outdated(episodes)
        if refused:
            raise refused[0]

    @overload
    def ask(self) -> Proposal: ...

    @overload
    def ask(self, n: int) -> list[Proposal]: ...

    def ask(self, n: int | None = None) -> Proposal | list[Proposal]:
        """The next leaf to evaluate, or ``n`` different leaves to evaluate at once.

        A leaf that was asked for and not told yet is pending. It counts as observed for the variance of the
        belief but not for its mean, so that the next leaves lie elsewhere.

        Parameters
        ----------
        n : int, optional
            Number of leaves. A list is returned, which is shorter if fewer leaves are left.

        Raises
        ------
        SearchExhausted
            If every leaf has been evaluated or asked for, and none may be evaluated again.
        """
        if n is not None and (not is_whole(n) or n < 1):
            raise ValueError(f"n must be a positive whole number of leaves, got {shown(n)}")
        with self.one_thread():
            first = self._ask()
            if n is None:
                return first
            found = [first]
            with suppress(SearchExhausted):
                while len(found) < n:
                    found.append(self._ask())
            return found

    def _ask(self) -> Proposal:
        """The next proposal; one whose evaluation was cut off comes first."""
        if self.outstanding.offered and (offered := self.outstanding.next_offered()) is not None:
            return offered
        turn = self.portfolio.state
        with self.recorder.deciding():
            try:
                proposal = self._avoiding_pending()
            except (SearchExhausted, OutOfTime) as over:
                self.portfolio.state = turn  # nobody has used it, and a resumed search does not know of it
                if isinstance(over, SearchExhausted):
                    self._settle_for_good()
                raise
            self.asked += 1
            self.recorder.asked(proposal)
        return proposal

    def _settle_for_good(self) -> None:
        """No further reward will come: values of a small problem are exact, and no reward is held back."""
        if self.portfolio.descent is not None:
            self.explored_values.complete()
        self.settle()

    def _avoiding_pending(self) -> Proposal:
        """A leaf that is not pending, if there is one."""
        if not self.repeats or not self.outstanding.proposals:
            return self._next()
        with self.outstanding.avoided() as avoided:
            try:
                return self._next()
            except SearchExhausted:
                self.explored.reopen(avoided)
                return self._next()

    def tell(
        self, evaluated: Proposal | State, reward: float, noise: float | None = None, *, note: Any = None
    ) -> Evaluation:
        """Learn a leaf's reward.

        Parameters
        ----------
        evaluated : Proposal or leaf
            What was evaluated: a proposal, or any leaf, asked for or not. A leaf may be given as it is
            written: named choices as a dictionary, a subset, order or sequence as a list.
        reward : float
            Its reward. A reward that is not finite is refused, and the model stays unchanged.
        noise : float, optional
            Noise variance of this reward, in squared units of the reward; by default that of the model.
        note : optional
            Anything; it is written to the journal with the reward, as text where JSON has no such type.
        """
        with self.one_thread():
            return self.take(self.checked(evaluated, reward, noise), note)

    def take(self, told: Told, note: Any = None, recorded: Mapping[str, Any] | None = None) -> Evaluation:
        """Record a checked reward and learn from it.

        In a replay, ``recorded`` are the hyperparameters that were learnt after it; empty if none were.
        """
        with self.one_thread():
            self.outstanding.discard_fantasies()
            self.recorder.told(told, note)  # before anything is learnt: the reward has been paid for
            with self.recorder.repeating():
                return self._take(told, recorded)

    def checked(
        self, evaluated: Proposal | State, reward: float, noise: float | None, seconds: float | None = None
    ) -> Told:
        """A reward, checked, that is told after ``seconds`` of the search; now by default."""
        proposal = evaluated if isinstance(evaluated, Proposal) else None
        leaf = self.explored.space.as_leaf(evaluated) if proposal is None else proposal.leaf
        if proposal is not None:
            self.space.remember(proposal.actions)
        value = checked_reward(reward, leaf)
        variance = None if noise is None else checked_noise(noise)
        when = self.data.clock() if seconds is None else seconds
        with self.one_thread():
            node = self.explored.leaf(leaf)
            return Told(leaf, node, proposal and self._known(proposal), value, variance, when)

    def _known(self, proposal: Proposal) -> Proposal | None:
        """The pending proposal that is equal to this one, else this one.

        ``None`` if it is not pending and does not describe a way from the root: it may belong to another
        search. Its reward still is that of the leaf.
        """
        index = self.outstanding.find(proposal.leaf, proposal)
        pending = None if index is None else self.outstanding.proposals[index]
        if pending is proposal or (pending is not None and proposal.actions in (pending.actions, ())):
            return pending
        return proposal if self.explored.describes(proposal) else None

    def _compare(self, told: Told) -> Gaussian | None:
        """What was predicted for a reward; ``None`` if the model is not learnt from rewards."""
        if self.posterior.evidence is None:
            return None
        belief = self.posterior.of_reward(told.node, told.noise)
        self.data.foresight.record(belief, told.reward)
        return belief

    def propose(self, leaf: State, actions: Sequence[Action] | None = None, note: Any = None) -> Proposal:
        """Make a leaf of your choice pending, as if it had been asked for.

        ``actions`` lead from the root to the leaf; they may be left out where the problem knows them, as the
        ready-made problems do. The leaf may be given as it is written, as in :meth:`tell`. ``note`` is
        written to the journal.
        """
        leaf = self.space.as_leaf(leaf)
        proposal = Proposal(leaf, tuple(self.space.actions_to(leaf) if actions is None else actions))
        if not self.explored.describes(proposal):
            raise ProblemError(
                f"cannot propose {leaf!r}: the actions {proposal.actions!r} do not lead there from the root. "
                "Give the actions from the present root to the leaf"
            )
        self.explored.leaf(leaf)  # raises if it is none
        self.recorder.proposed(leaf, proposal.actions, note)
        self.outstanding.add(proposal)
        return proposal

    def forget(self, proposal: Proposal, *, again: bool = True, note: Any = None) -> None:
        """Take back a pending proposal whose reward will not come.

        ``again`` says whether its leaf may be asked for again. ``note`` is written to the journal.
        """
        index = self.outstanding.find(proposal.leaf, proposal)
        if index is None:
            raise ValueError(f"{proposal!r} is not pending: it was told, taken back or never asked for")
        with self.one_thread():
            self.outstanding.discard_fantasies()
        self.recorder.forgotten(index, again, note)
        self.outstanding.forget(index, again)

    def postpone(self, proposal: Proposal) -> None:
        """Let a proposal be asked for again, because its evaluation was interrupted."""
        if self.recorder.broken:
            return  # the search must not know more than its record
        if self.recorder.keeps_pending:
            self.outstanding.offer([proposal])
        elif self.outstanding.find(proposal.leaf, proposal) is not None:
            self.forget(proposal, again=True)

    def cost_of(self, proposal: Proposal) -> float:
        """What an evaluation takes of the budget."""
        return 1.0

    @property
    def spent(self) -> int:
        """What the evaluations so far have taken of the budget."""
        return len(self.data)

    def way_to(self, leaf: State) -> Proposal:
        """The proposal of a leaf that somebody names; raises unless it exists and may be evaluated now."""
        return self.outstanding.way_to(leaf)

    def settle(self) -> None:
        """Learn from the rewards told so far, if they are held back to be standardised with more."""
        self.recorder.settled()
        with one_thread(), self.recorder.deciding():
            self._learn(self.posterior.settle())

    def note(self, content: Any) -> None:
        """Write a note to the journal, if there is one; as text where JSON has no such type."""
        self.recorder.noted(content)

    def record_with(self, recorder: Recorder) -> None:
        """Report all further events to a recorder."""
        self.recorder = self.explored.listener = self.posterior.recorder = recorder

    def close(self) -> None:
        """Release the journal, if there is one, so that it can be resumed. Later events are not recorded."""
        self.recorder.close()
        self.record_with(Recorder())

    def one_thread(self) -> AbstractContextManager[None]:
        """While entered, BLAS uses one thread. A small model does not use BLAS, so nothing is set."""
        return one_thread() if self.explored.scores.uses_blas else _NOTHING

    # Methods -----------------------------------------------------------------------------------------

    @classmethod
    def paper(
        cls,
        problem: Problem,
        *,
        c: float | None = None,
        noise: float = 1e-4,
        beta: float = 1.0,
        seed: Seed = None,
        covariance: Covariance | None = None,
        mean: MeanFunction = 0.0,
        increment_prior: Sequence[float] | None = None,
        backup: Backup | None = None,
        expansion: Expansion | None = None,
        standardize: int = 0,
        journal: str | PathLike[str] | None = None,
    ) -> Self:
        """The method of the paper, with its settings as arguments.

        Parameters
        ----------
        problem, seed, journal
            See :class:`Search`.
        c : float, optional
            Scale of the covariance: p(g) = N(μ, c Σ). One over the problem's depth by default (the paper's
            choice for standardised rewards), 1 if ``covariance`` is given.
        noise : float
            Variance λ of a reward.
        beta : float
            Exploration constant β.
        covariance : Covariance, optional
            Σ; by default the problem's own, else the number of items that two states share, and private
            variance 1.
        mean : float or callable
            Prior mean μ of the generative scores.
        increment_prior : (mean, variance), optional
            Prior on Δ at every level.
        backup : Backup, optional
            ``backups.Softmax()`` for the simplified method. By default moment matching, with a standard
            normal prior on inner values if all children are added at once. If they are added one by one,
            the prior would make visited nodes look worse than siblings outside the DAG.
        expansion : Expansion, optional
            ``AllChildren()`` or ``OneChild()``; by default the latter where nodes have many children.
        standardize : int
            Number of initial roll-outs that standardise the rewards (20 in section 4.3 of the paper).
        """
        settings: dict[str, Any] = {"c": c, "noise": noise, "beta": beta, "covariance": covariance}
        settings |= {"mean": mean, "increment_prior": increment_prior, "backup": backup}
        settings |= {"expansion": expansion, "standardize": standardize}
        space = Space.of(problem)
        search = cls(space, seed=seed, **paper_parts(space, **settings))
        start_journal(search, journal, "Search.paper", settings)
        return search

    @classmethod
    def default(
        cls,
        problem: Problem,
        *,
        covariance: Covariance | None = None,
        noisy: bool = False,
        initial: int = INITIAL,
        seed: Seed = None,
        journal: str | PathLike[str] | None = None,
    ) -> Self:
        """The method of :func:`dagsearch.search`, which documents ``covariance`` and ``noisy``.

        ``initial`` is the number of random leaves to begin with; for the rest see :class:`Search`. For a
        problem with ``expand`` it is a :class:`dagsearch.costly.StepSearch`.
        """
        if has_costly_steps(problem):
            from dagsearch.costly import StepSearch  # which is a Search itself

            given: Any = {"covariance": covariance, "noisy": noisy, "initial": initial}
            made: Any = StepSearch.default(cast(StepProblem, problem), seed=seed, journal=journal, **given)
            return made  # type: ignore[no-any-return]
        noisy, space = checked_flag("noisy", noisy), Space.of(problem)
        search = cls(space, seed=seed, **default_parts(space, covariance, noisy, initial))
        settings = {"covariance": covariance, "noisy": noisy, "initial": initial}
        start_journal(search, journal, "Search.default", settings)
        return search

    @classmethod
    def resume(cls, journal: str | PathLike[str], problem: Problem | StepProblem, **arguments: Any) -> Self:
        """The search that wrote a journal, as it was after the last event; it continues to write there.

        Leaves that were pending are offered again: :meth:`ask` returns them first. ``arguments`` are the
        arguments of the search that a journal cannot hold, such as a covariance or parts. The journal holds
        numbers and text, so these need not be given.
        """
        return resume_search(cls, journal, cast(Problem, problem), arguments)  # type: ignore[return-value]

    # Running -----------------------------------------------------------------------------------------

    def steps(
        self,
        budget: int,
        stop: Stop | None = None,
        *,
        executor: Executor | None = None,
        n_jobs: int | None = None,
        timeout: float | None = None,
        on_error: OnError = "raise",
        deterministic: bool = False,
        steer: bool = False,
        join: bool = False,
        callback: Callback | None = None,
    ) -> Iterator[Evaluation]:
        """Evaluate ``budget`` leaves, one per iteration; all workers evaluate at the same time.

        The iterator ends early if no leaf is left to evaluate, or if a rule of ``stop`` holds. It waits for
        evaluations that have begun.

        Parameters
        ----------
        budget : int
            Number of evaluations.
        stop : Stop, optional
            Rules for stopping before the budget is spent.
        executor : concurrent.futures.Executor, optional
            Executor that evaluates leaves; by default the calling thread does.
        n_jobs : int, optional
            Number of processes to evaluate in; -1 for one per core.
        timeout : float, optional
            Seconds after which an evaluation counts as failed.
        on_error : "raise", "skip" or float
            What to do about a failed evaluation. ``"raise"``: raise an error that names the leaf; another
            call then continues. ``"skip"``: ignore the evaluation. A number: tell it as the reward.
        deterministic : bool
            Whether rewards are learnt in the order in which they were asked for. The same seed then gives the
            same run, whatever the timing, but a slow evaluation may keep workers waiting.
        steer : bool
            Whether the run takes requests from ``dagsearch watch --steer``; the search must have a journal.
        join : bool
            Whether other processes may join the run by :func:`dagsearch.join`; the search must have a
            journal. Leaves are then evaluated in processes here, too; ``n_jobs`` is 1 by default.
        callback : callable, optional
            ``callback(evaluation)`` is called with every :class:`Evaluation` once its reward is told. If it
            returns ``True``, no further evaluation is begun.
        """
        on_error, budget = checked_on_error(on_error), checked_budget(budget)
        deterministic = checked_flag("deterministic", deterministic)
        steer = checked_steer(steer, self.recorder.keeps_pending)
        callback = checked_callback(callback)
        join = checked_join(join, self.recorder.keeps_pending, self.problem)
        if join and executor is None and n_jobs is None:
            n_jobs = 1
        pool = make_pool(self.problem, executor, n_jobs, timeout, deterministic)
        if join:
            known = len(self.history)
            pool = joined_pool(self, pool, timeout, deterministic)
            budget = max(0, budget - len(self.history) + known)  # results that an earlier run did not take
        return evaluations(self, pool, budget, stop or Stop(), on_error, steer, callback)

    def run(self, budget: int, stop: Stop | None = None, **execution: Unpack[Execution]) -> Result:
        """Evaluate ``budget`` leaves, or fewer if a rule of ``stop`` holds, and return the result.

        The keywords ``executor``, ``n_jobs``, ``timeout``, ``on_error``, ``deterministic``, ``steer``,
        ``join`` and ``callback`` are those of :meth:`steps`.
        """
        for _ in self.steps(budget, stop, **execution):
            pass
        return self.result()

    # What is known -------------------------------------------------------------------------------------

    @property
    def problem(self) -> Problem:
        """The problem that is searched."""
        return self.explored.problem

    @property
    def space(self) -> Space:
        """The problem as it was examined."""
        return self.explored.space

    @property
    def history(self) -> list[Evaluation]:
        """Every evaluation, in the order told."""
        return self.data.evaluations

    @property
    def pending(self) -> tuple[Proposal, ...]:
        """Proposals that were asked for and not told yet, the oldest first."""
        return tuple(self.outstanding.proposals)

    @property
    def values(self) -> Values:
        """The DAG that descents have explored, else that of the ways to the best leaves, with its values."""
        return self.answers.values()

    def belief(self, state: State) -> Belief:
        """Belief over g and v of a state, explored or not, in units of the reward; ignores pending leaves."""
        return self.answers.belief(state)

    def best_action(self, state: State) -> Action | None:
        """The action with the best mean value; ``None`` where the explored part ends."""
        return self.answers.best_action(state)

    def recommend(self) -> Line:
        """The path of best mean v, continued by best mean g from where the explored part ends."""
        return self.answers.recommend()

    def incumbent(self) -> Evaluation | None:
        """The best evaluation so far: by reward, or by mean g where noise is learnt."""
        return self.data.incumbent()

    def result(self) -> Result:
        """The result so far."""
        return self.answers.result()

    def sample_optimum(self, count: int = SAMPLES, most: int = LEAVES, models: int = 1) -> Optimum | None:
        """Joint samples of g of the leaves that may be best, evaluated or not, in units of the reward.

        In a problem with many leaves, ``most`` leaves are sampled in addition to the evaluated ones. With
        several ``models``, samples come from models whose hyperparameters differ as far as the rewards leave
        them open. ``None`` if no reward is known yet, in games with a MIN player, and beyond 3,000
        evaluations.
        """
        return self.answers.sample_optimum(count, most, models)

    def forecast(self, n: int = 1) -> Forecast | None:
        """The best reward to be expected after ``n`` more evaluations, with a 90% interval.

        It follows from the record of the search alone: how often and by how much the best reward improved,
        and how well rewards were predicted. ``docs/watching.md`` says how often such intervals hold, for up
        to nine times as many evaluations as there were. With noisy rewards it is about the largest reward
        told, not about the mean of a leaf. ``None`` with fewer than five rewards, or if all are equal.

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
