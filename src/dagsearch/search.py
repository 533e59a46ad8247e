"""The search in ask/tell form, and in one line."""

from collections.abc import Iterator, Sequence
from concurrent.futures import Executor
from contextlib import suppress
from os import PathLike
from typing import Any, Literal, Self, Unpack, overload

import numpy as np

from dagsearch._internal.checks import is_whole
from dagsearch.covariances import Covariance
from dagsearch.durable.journal import has_begun
from dagsearch.durable.resume import resume_search, start_journal
from dagsearch.engine.composed import Composed
from dagsearch.engine.compositions import Parts, compose, default_parts, paper_parts
from dagsearch.engine.defaults import INITIAL, default_initial
from dagsearch.engine.findings import LEAVES, SAMPLES, Findings
from dagsearch.engine.recorder import Recorder
from dagsearch.errors import SearchExhausted, SearchInterrupted
from dagsearch.execution.options import Execution
from dagsearch.execution.pools import make_pool
from dagsearch.execution.runner import OnError, checked_budget, checked_on_error, evaluations, log_if_poor
from dagsearch.execution.stopping import Stop
from dagsearch.pages.notebook import shown_progress
from dagsearch.posterior import MeanFunction
from dagsearch.problem import Action, Problem, State
from dagsearch.proposers.expansions import Expansion
from dagsearch.proposers.optimum import Optimum
from dagsearch.results import Belief, Evaluation, Line, Proposal, Result
from dagsearch.values.backups import Backup

Seed = int | np.random.Generator | None


class Search(Composed):
    """Probabilistic search over the DAG of a problem's states.

    :meth:`paper` composes the paper's method, :meth:`default` the method behind :func:`dagsearch.search`.
    This constructor takes the parts themselves.

    Parameters
    ----------
    problem : Problem
        What to search.
    seed : int, numpy Generator or None
        Source of all randomness.
    journal : path, optional
        File that records every event, so that :meth:`resume` can continue after a crash. It must not exist
        yet. ``docs/durability.md`` says what is promised.
    **parts
        ``scores``, ``policy``, ``rollout`` and ``backup``, and optionally ``expansion``, ``increments``,
        ``refinements``, ``evidence``, ``refresh``, ``standardize`` and ``repeats``; see
        :class:`dagsearch.engine.compositions.Parts`.
    """

    def __init__(
        self,
        problem: Problem,
        *,
        seed: Seed = None,
        journal: str | PathLike[str] | None = None,
        **parts: Unpack[Parts],
    ) -> None:
        self.engine = compose(problem, np.random.default_rng(seed), **parts)
        self.findings = Findings(self.engine)
        start_journal(self, journal, "Search", {})

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
        search = cls(problem, seed=seed, **paper_parts(problem, **settings))
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

        ``initial`` is the number of random leaves to begin with; for the rest see :class:`Search`.
        """
        search = cls(problem, seed=seed, **default_parts(problem, covariance, noisy, initial))
        settings = {"covariance": covariance, "noisy": noisy, "initial": initial}
        start_journal(search, journal, "Search.default", settings)
        return search

    @classmethod
    def resume(cls, journal: str | PathLike[str], problem: Problem, **arguments: Any) -> Self:
        """The search that wrote a journal, as it was after the last event; it continues to write there.

        Leaves that were pending are offered again: :meth:`ask` returns them first. ``arguments`` are the
        arguments of the search that a journal cannot hold, such as a covariance or parts. The journal holds
        numbers and text, so these need not be given.
        """
        return resume_search(cls, journal, problem, arguments)  # type: ignore[return-value]

    # Asking and telling ----------------------------------------------------------------------------

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
            raise ValueError(f"n must be a positive whole number of leaves, got {n!r}")
        with self.engine.one_thread():
            first = self.engine.ask()
            if n is None:
                return first
            found = [first]
            with suppress(SearchExhausted):
                while len(found) < n:
                    found.append(self.engine.ask())
            return found

    def tell(
        self, evaluated: Proposal | State, reward: float, noise: float | None = None, *, note: Any = None
    ) -> Evaluation:
        """Learn a leaf's reward.

        Parameters
        ----------
        evaluated : Proposal or leaf
            What was evaluated: a proposal, or any leaf, asked for or not.
        reward : float
            Its reward. A reward that is not finite is refused, and the model stays unchanged.
        noise : float, optional
            Noise variance of this reward, in squared units of the reward; by default that of the model.
        note : optional
            Anything; it is written to the journal with the reward, as text where JSON has no such type.
        """
        return self.engine.tell(self.engine.checked(evaluated, reward, noise), note)

    def propose(self, leaf: State, actions: Sequence[Action]) -> Proposal:
        """Make a leaf of your choice pending, as if it had been asked for.

        ``actions`` lead from the root to the leaf.
        """
        return self.engine.propose_leaf(leaf, actions)

    def forget(self, proposal: Proposal, *, again: bool = True, note: Any = None) -> None:
        """Take back a pending proposal whose reward will not come.

        ``again`` says whether its leaf may be asked for again. ``note`` is written to the journal.
        """
        index = self.engine.pending.find(proposal.leaf, proposal)
        if index is None:
            raise ValueError(f"{proposal!r} is not pending: it was told, taken back or never asked for")
        self.engine.forget(index, again, note)

    def settle(self) -> None:
        """Learn from the rewards told so far, if they are held back to be standardised with more."""
        self.engine.settle()

    def reroot(self, state: State) -> None:
        """Continue from a state below the root, for example after a move in a game; the belief is kept.

        The problem must have ``from_state``. A state outside the explored DAG must be at most two decisions
        away from the root.
        """
        self.engine.reroot(state)
        self.findings.reset()

    def note(self, content: Any) -> None:
        """Write a note to the journal, if there is one; as text where JSON has no such type."""
        self.engine.recorder.noted(content)

    def close(self) -> None:
        """Release the journal, if there is one, so that it can be resumed. Later events are not recorded."""
        self.engine.recorder.close()
        self.engine.record_with(Recorder())

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
        """
        on_error, budget = checked_on_error(on_error), checked_budget(budget)
        pool = make_pool(self.problem, executor, n_jobs, timeout, deterministic)
        return evaluations(self, pool, budget, stop or Stop(), on_error)

    def run(self, budget: int, stop: Stop | None = None, **execution: Unpack[Execution]) -> Result:
        """Evaluate ``budget`` leaves, or fewer if a rule of ``stop`` holds, and return the result.

        The keywords ``executor``, ``n_jobs``, ``timeout``, ``on_error`` and ``deterministic`` are those of
        :meth:`steps`.
        """
        for _ in self.steps(budget, stop, **execution):
            pass
        return self.result()

    # What is known -------------------------------------------------------------------------------------

    def belief(self, state: State) -> Belief:
        """Belief over g and v of a state, explored or not, in units of the reward; ignores pending leaves."""
        return self.findings.belief(state)

    def best_action(self, state: State) -> Action | None:
        """The action with the best mean value; ``None`` where the explored part ends."""
        return self.findings.best_action(state)

    def recommend(self) -> Line:
        """The path of best mean v, continued by best mean g from where the explored part ends."""
        return self.findings.recommend()

    def incumbent(self) -> Evaluation | None:
        """The best evaluation so far: by reward, or by mean g where noise is learnt."""
        return self.engine.history.incumbent()

    def result(self) -> Result:
        """The result so far."""
        return self.findings.result()

    def sample_optimum(self, count: int = SAMPLES, most: int = LEAVES, models: int = 1) -> Optimum | None:
        """Joint samples of g of the leaves that may be best, evaluated or not, in units of the reward.

        In a problem with many leaves, ``most`` leaves are sampled in addition to the evaluated ones. With
        several ``models``, samples come from models whose hyperparameters differ as far as the rewards leave
        them open. ``None`` if no reward is known yet, in games with a MIN player, and beyond 3,000
        evaluations.
        """
        return self.findings.sample_optimum(count, most, models)


def search(
    problem: Problem,
    budget: int,
    *,
    covariance: Covariance | None = None,
    noisy: bool = False,
    patience: int | None = None,
    target: float | None = None,
    seconds: float | None = None,
    confidence: float | None = None,
    seed: Seed = None,
    progress: bool | Literal["notebook"] = False,
    journal: str | PathLike[str] | None = None,
    **execution: Unpack[Execution],
) -> Result:
    """Find the best leaf of a problem with ``budget`` evaluations.

    The first fifth of the evaluations, at most 10, are random leaves. Then descents by upper confidence of v,
    completed by upper confidence of g, take turns with leaves near the best ones so far. Rewards are
    standardised, and hyperparameters are learnt from the evidence. ``docs/beyond.md`` says how much each of
    these gains.

    Whatever error ends the search, also one of your own problem, ``error.result`` is the result so far.

    Parameters
    ----------
    problem : Problem
        What to search.
    budget : int
        Maximum number of evaluations.
    covariance : Covariance, optional
        Which states are alike. By default the problem's own covariance; otherwise, if the problem has
        ``inclusion``, as subsets do, :class:`dagsearch.covariances.SetKernel`; otherwise
        :class:`dagsearch.covariances.Overlap` of the states' items.
    noisy : bool
        Whether the same leaf may earn a different reward next time. If so, leaves are evaluated again where
        that pays, the noise is learnt, and the best leaf is the one with the best mean g. Otherwise no leaf
        is evaluated twice.
    patience : int, optional
        Stop after this number of evaluations in a row without a better reward.
    target : float, optional
        Stop once a reward is at least this large.
    seconds : float, optional
        Stop after this number of seconds.
    confidence : float, optional
        Stop once the best leaf so far is the best of all with this probability.
    seed : int, numpy Generator or None
        Source of all randomness.
    progress : bool or "notebook"
        Whether to show a progress bar; ``"notebook"`` draws rewards and their forecast in a notebook.
    journal : path, optional
        File that records every event. If it exists, its search continues until there are ``budget`` rewards
        in total.
    **execution
        Where and how rewards are computed, as for :meth:`Search.steps`: ``executor``, ``n_jobs``,
        ``timeout``, ``on_error``, ``deterministic``.

    Raises
    ------
    EvaluationError
        If ``problem.reward`` fails.
    SearchInterrupted
        On Ctrl-C. It is a ``KeyboardInterrupt``.
    """
    stop = Stop(patience, target, seconds, confidence)
    settings = {"covariance": covariance, "noisy": noisy, "seed": seed, "journal": journal}
    return run_search(problem, budget, stop, progress, execution, settings)


def run_search(
    problem: Problem,
    budget: int,
    stop: Stop,
    progress: bool | Literal["notebook"],
    execution: Execution,
    settings: Any,
    sign: int = 1,
) -> Result:
    """What :func:`search` does; ``settings`` are for :meth:`Search.default`, ``sign`` is for the bar."""
    budget, journal = checked_budget(budget), settings["journal"]
    if journal is not None and has_begun(journal):
        names = ("noisy",) if settings["covariance"] is None else ("noisy", "covariance")
        run = Search.resume(journal, problem, **{name: settings[name] for name in names})
    else:
        run = Search.default(problem, initial=default_initial(budget), **settings)
    done, budget = len(run.history), run.engine.steered.total(budget)
    try:
        if done < budget:
            steps = run.steps(budget - done, stop, **execution)
            with shown_progress(progress, run.history, budget, sign) as bar:
                for evaluation in steps:
                    bar.update(sign * evaluation.best_reward)
        return log_if_poor(run.result())
    except Exception as error:
        if getattr(error, "result", None) is None:
            error.result = run.findings.after_error()  # type: ignore[attr-defined]
        raise
    except KeyboardInterrupt as error:
        interrupted = SearchInterrupted(f"interrupted after {len(run.history)} evaluations; see error.result")
        run.engine.history.stopped = "interrupted"
        interrupted.result = run.result()
        raise interrupted from error
    finally:
        run.close()
