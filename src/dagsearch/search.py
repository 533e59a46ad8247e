"""The search: one loop in ask/tell form, composed of exchangeable parts."""

import json
import logging
import math
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from concurrent.futures import Executor
from contextlib import AbstractContextManager, contextmanager, nullcontext, suppress
from os import PathLike
from typing import Any, Literal, Self, cast, overload

import numpy as np
from tqdm import tqdm

from dagsearch._internal.checks import is_finite, is_whole
from dagsearch._internal.threads import one_thread
from dagsearch._internal.ties import TieBreaker
from dagsearch._internal.typing import FloatArray
from dagsearch._internal.walks import numbered, shape_rng
from dagsearch.backups import Backup
from dagsearch.covariances import Covariance, Hyperparameter, as_covariance
from dagsearch.descent import UNKNOWN
from dagsearch.durable.encoding import StateCodec
from dagsearch.durable.journal import Journal, JournalError, has_begun
from dagsearch.durable.replay import Replay, check_same, generator_like, generator_states, settings_of
from dagsearch.engine.compositions import (
    check_covariance_on,
    default_backup,
    default_covariance,
    default_expansion,
    default_increments,
    default_parts,
    default_scale,
)
from dagsearch.errors import (
    CovarianceError,
    DagSearchError,
    EvaluationError,
    ProblemError,
    RewardError,
    SearchExhausted,
    SearchInterrupted,
)
from dagsearch.execution.pools import Pool, Running, breakdown, make_pool
from dagsearch.execution.stopping import Stop
from dagsearch.expansions import AllChildren, Expansion, OneChild, Options
from dagsearch.explored import Explored
from dagsearch.gaussians import Gaussian
from dagsearch.increments import Increments, ProblemShape
from dagsearch.learning.evidence import Evidence, by_leaf
from dagsearch.learning.refresh import Eager, Refresh
from dagsearch.learning.rewards import Episode, Standardizer, checked_reward
from dagsearch.policies import Policy, UpperConfidence
from dagsearch.problem import Action, Children, Problem, State, check_members, player_at
from dagsearch.refinements import Refinement
from dagsearch.refinements.optimum import Optimum, sample_optimum
from dagsearch.results import Belief, Evaluation, Line, Proposal, Result
from dagsearch.rollouts import Rollout, Uniform
from dagsearch.scores import JointScores, KernelScores, MeanFunction, Scores, scores_for
from dagsearch.scores.base import checked_noise

logger = logging.getLogger(__name__)

# Joint samples behind a result, and evaluations beyond which they would cost too much.
_SAMPLES, _LEAVES = 512, 1000
_MOST_SAMPLED = 3000
_NOTHING = nullcontext()


class Search:
    """Probabilistic search over the DAG of a problem's states.

    :meth:`paper` composes the paper's method; :func:`dagsearch.search` is the one-line way with defaults
    that suit most problems. This constructor takes the parts themselves.

    Parameters
    ----------
    problem : Problem
        What to search.
    scores : Scores
        Belief over the generative scores; a fresh one, it belongs to this search from now on.
    policy : Policy
        Where descents go.
    rollout : Rollout
        How paths are finished below the explored part; uniformly at random as long as nothing is known.
    backup : Backup
        How values follow from scores.
    expansion : Expansion, optional
        How the DAG grows; by default all children at once, or one by one where there are many.
    increments : Increments, optional
        Δ by level; by default the problem's and the covariance's own.
    refinements : sequence of Refinement
        Take turns with the descent: every one of them proposes a leaf near the best so far in its turn.
        Only where everyone maximises.
    evidence : Evidence, optional
        Learns the covariance's hyperparameters and the noise, and standardises rewards anew whenever it does.
        By default they stay as they are given. With ``repeats`` the noise is learnt too, and the best leaf is
        the one with the best mean g instead of the largest reward.
    refresh : Refresh, optional
        Which nodes are brought up to date after a reward; all by default, and where scores or back-up cannot
        do with some.
    standardize : int
        So many roll-outs from the root come first; the mean and standard deviation of their rewards
        then standardise all rewards. They count as evaluations, and the model learns from them too. Until
        the last of them is told, beliefs are the prior's. 0: rewards are used as they are.
    repeats : bool
        Whether a leaf may be evaluated again. If not, the search ends when all leaves have been.
    seed : int, numpy Generator or None
        Source of all randomness.
    journal : path, optional
        File in which everything that happens is kept, so that :meth:`resume` can go on after a crash. It must
        not exist yet. ``docs/durability.md`` says what is promised.
    """

    def __init__(
        self,
        problem: Problem,
        *,
        scores: Scores,
        policy: Policy,
        rollout: Rollout,
        backup: Backup,
        expansion: Expansion | None = None,
        increments: Increments | None = None,
        refinements: Sequence[Refinement] = (),
        evidence: Evidence | None = None,
        refresh: Refresh | None = None,
        standardize: int = 0,
        repeats: bool = True,
        seed: int | np.random.Generator | None = None,
        journal: str | PathLike[str] | None = None,
    ) -> None:
        check_members(problem)
        if scores.mean.size > 0:
            raise ValueError("scores must be fresh: these belong to another search already")
        self.problem = problem
        self.rng = np.random.default_rng(seed)
        if scores.covariance is not None:
            check_covariance_on(problem, scores.covariance)
        if increments is None:
            increments = default_increments(problem, scores.covariance)
        self.explored = Explored(problem, scores, increments)
        self.expansion = expansion or default_expansion(increments)
        self.policy = policy
        self.rollout = rollout
        self.backup = backup
        self.refinements = tuple(refinements)
        self.evidence = evidence
        self._shape = ProblemShape(problem, shape_rng()) if evidence is not None else None
        if evidence is not None and not hasattr(scores, "refitted"):
            raise ValueError(f"evidence needs WeightScores or KernelScores, got {type(scores).__name__}")
        can_choose = self._from_scratch and hasattr(scores, "as_lazy")
        self.refresh = refresh if refresh is not None and can_choose else Eager()
        self.repeats = repeats
        self._learns_noise = repeats and evidence is not None
        self.history: list[Evaluation] = []
        self._told: list[Episode] = []  # what the model has learnt from, in units of the reward
        self._turn = 0
        self._pending: list[Proposal] = []  # asked for and not told, the oldest first
        self._pretended = 0  # of them the first so many, in the model
        self._values_before: tuple[FloatArray, FloatArray] | None = None  # before anything was pretended
        self._best: Evaluation | None = None  # the first of the largest rewards
        self._stopped: str | None = None
        self._probability: tuple[int, float | None] = (0, None)
        self._sampled: tuple[tuple[int, int, int], Optimum] | None = None  # and what it was made from
        self._started = time.perf_counter()
        self._standardizer = Standardizer(standardize)
        self._initial_asks = int(standardize)
        self.fast_forward = False
        """Whether values are left alone for now, as a replay brings them up to date once."""
        self._recorded: Mapping[str, Any] | None = None  # hyperparameters to take instead of learning them
        self._offered: list[Proposal] = []  # pending since before the search was resumed
        self._journal: Journal | None = None
        self.back_up([])
        self._keep(journal, "Search", {})

    @classmethod
    def paper(
        cls,
        problem: Problem,
        *,
        c: float | None = None,
        noise: float = 1e-4,
        beta: float = 1.0,
        seed: int | np.random.Generator | None = None,
        covariance: Covariance | None = None,
        mean: MeanFunction = 0.0,
        increment_prior: Sequence[float] | None = None,
        backup: Backup | None = None,
        expansion: Expansion | None = None,
        standardize: int = 0,
        journal: str | PathLike[str] | None = None,
    ) -> Self:
        """The method as the paper has it, with its settings as arguments.

        Parameters
        ----------
        problem : Problem
            What to search.
        c : float, optional
            Scale of the covariance: p(g) = N(μ, c Σ). One over the problem's depth by default (the
            paper's choice for standardised rewards), 1 if ``covariance`` is given.
        noise : float
            Variance λ of a reward.
        beta : float
            Exploration constant β.
        seed : int, numpy Generator or None
            Source of all randomness.
        covariance : Covariance, optional
            Σ; by default the problem's own, else the number of items two states share, plus 1 on the
            diagonal.
        mean : float or callable
            Prior mean μ of the generative scores.
        increment_prior : (mean, variance), optional
            Prior on Δ at every level.
        backup : Backup, optional
            ``backups.Softmax()`` for the simplified method. By default moment matching, with a standard
            normal prior on every inner node's value if all children are added at once, and none if
            they are added one by one: there it would make visited nodes look worse than the siblings
            that are not in the DAG.
        expansion : Expansion, optional
            ``AllChildren()`` or ``OneChild()``; by default the latter where there are many children.
        standardize : int
            Number of initial roll-outs that standardise the rewards (20 in the paper's section 4.3).
        journal : path, optional
            See :class:`Search`.
        """
        arguments: dict[str, Any] = {
            "c": c,
            "noise": noise,
            "beta": beta,
            "covariance": covariance,
            "mean": mean,
            "increment_prior": increment_prior,
            "backup": backup,
            "expansion": expansion,
            "standardize": standardize,
        }
        check_members(problem)
        if covariance is None:
            covariance = default_covariance(problem)
            c = default_scale(problem) if c is None else c
        covariance = as_covariance(covariance)
        scaled = covariance if c is None else c * covariance
        increments = Increments.of(problem, scaled, shape_rng(), increment_prior)
        expansion = expansion or default_expansion(increments)
        search = cls(
            problem,
            scores=scores_for(scaled, noise, mean),
            policy=UpperConfidence(beta),
            rollout=Uniform(),
            backup=backup or default_backup(expansion),
            expansion=expansion,
            increments=increments,
            standardize=standardize,
            seed=seed,
        )
        search._keep(journal, "Search.paper", arguments)
        return search

    @classmethod
    def default(
        cls,
        problem: Problem,
        *,
        covariance: Covariance | None = None,
        noisy: bool = False,
        initial: int = 20,
        seed: int | np.random.Generator | None = None,
        journal: str | PathLike[str] | None = None,
    ) -> Self:
        """What :func:`dagsearch.search` runs, to be asked and told by hand.

        Parameters
        ----------
        problem : Problem
            What to search.
        covariance, noisy
            See :func:`dagsearch.search`.
        initial : int
            Number of random leaves to begin with.
        seed : int, numpy Generator or None
            Source of all randomness.
        journal : path, optional
            See :class:`Search`.
        """
        search = cls(problem, **default_parts(problem, covariance, noisy, initial), seed=seed)
        arguments = {"covariance": covariance, "noisy": noisy, "initial": initial}
        search._keep(journal, "Search.default", arguments)
        return search

    # Durable runs -----------------------------------------------------------------------------

    @classmethod
    def resume(cls, journal: str | PathLike[str], problem: Problem, **arguments: Any) -> Self:
        """The search that a journal is of, as it was after the last event; it goes on writing there.

        Pending leaves are offered again: :meth:`ask` gives them first.

        Parameters
        ----------
        journal : path
            What the search was given as ``journal``.
        problem : Problem
            The same as before.
        **arguments
            What a journal cannot hold of the arguments the search was made with: a covariance, parts.
            Numbers and text are known.
        """
        kept, events = Journal.resume(journal)
        try:
            search = cls._made_again(events[0].content, problem, arguments)
            check_same(events[0].content, search, journal)
            Replay(search, events[1:]).run()
        except BaseException:
            kept.close()
            raise
        search._offered = list(search._pending)
        if search.history:
            search._started = time.perf_counter() - search.history[-1].seconds
        search._begin_notes(kept)
        return search

    @classmethod
    def _made_again(cls, settings: Mapping[str, Any], problem: Problem, given: Mapping[str, Any]) -> Self:
        """A fresh search of the same composition."""
        from dagsearch import __version__

        if settings["dagsearch"] != __version__:
            raise JournalError(
                f"the journal was written by dagsearch {settings['dagsearch']}, this is {__version__}: "
                "another version may decide otherwise. Install that one to go on"
            )
        makers: dict[str, Callable[..., Self]] = {
            "Search": cls,
            "Search.paper": cls.paper,
            "Search.default": cls.default,
        }
        missing = sorted(set(settings["given"]) - set(given))
        if missing:
            raise JournalError(
                f"the search was made with {', '.join(missing)}, which a journal cannot hold: give the same "
                "to resume"
            )
        known = settings["arguments"]
        for name in sorted(set(known) & set(given)):
            if known[name] != json.loads(json.dumps(given[name], default=repr)):
                raise JournalError(
                    f"the search was made with {name}={known[name]!r}, not {given[name]!r}: give the same to "
                    "resume, or nothing"
                )
        arguments = {**known, **given, "seed": generator_like(settings["generators"][0])}
        try:
            return makers[settings["made_by"]](problem, **arguments)
        except TypeError as error:
            raise JournalError(
                f"the search was made by {settings['made_by']}(...); give resume the same arguments ({error})"
            ) from error

    def _keep(self, path: str | PathLike[str] | None, made_by: str, arguments: Mapping[str, Any]) -> None:
        """Begin a journal, if there is to be one."""
        if path is not None:
            self._begin_notes(Journal.create(path, settings_of(self, made_by, arguments)))

    def _begin_notes(self, journal: Journal) -> None:
        self._journal, self.explored.changes = journal, []
        self._codec = StateCodec(self.problem)

    def _note(self, kind: str, **content: Any) -> None:
        """Commit what has just happened, or is about to, with what the DAG went through meanwhile."""
        if self._journal is not None:
            changes, self.explored.changes = self.explored.changes, []
            generators = generator_states(self)
            self._journal.append(kind, {**content, "changes": changes, "generators": generators})

    def _all_or_none(self) -> AbstractContextManager[None]:
        """While entered, something is done that the journal holds already, or will hold in a moment.

        If it is left half done, by Ctrl-C or an error in the user's problem, search and file say different
        things, and only the file is right. A covariance that refuses a reward will do so again.
        """
        return _NOTHING if self._journal is None else _abandoning(self._journal)

    def _repeatable(self) -> AbstractContextManager[None]:
        """:meth:`_all_or_none` for what the journal holds by name: doing it again makes its changes again."""
        return _NOTHING if self._journal is None else self._without_changes(self._journal)

    @contextmanager
    def _without_changes(self, journal: Journal) -> Iterator[None]:
        try:
            with _abandoning(journal):
                yield
        finally:
            self.explored.changes = []

    def note(self, content: Any) -> None:
        """Keep something of your own in the journal, of the kind that JSON knows; nothing without one."""
        self._note("note", note=content)

    def close(self) -> None:
        """Let go of the journal, if there is one: the file may then be resumed. No event is kept any more."""
        if self._journal is not None:
            self._journal.close()
            self._journal = self.explored.changes = None

    # The loop ---------------------------------------------------------------------------------

    @overload
    def ask(self) -> Proposal: ...

    @overload
    def ask(self, n: int) -> list[Proposal]: ...

    def ask(self, n: int | None = None) -> Proposal | list[Proposal]:
        """The next leaf to evaluate, or ``n`` different ones to evaluate at once.

        A leaf that was asked for and not told yet is pending. It counts as observed for the variance of what
        is believed, but not for the mean, so that the next ones are elsewhere.

        Parameters
        ----------
        n : int, optional
            How many; then the answer is a list, and shorter if there are not as many left.

        Raises
        ------
        SearchExhausted
            If every leaf has been evaluated or asked for, and none may be again.
        """
        if n is not None and (not is_whole(n) or n < 1):
            raise ValueError(f"n must be a positive whole number of leaves, got {n!r}")
        with self._one_thread():
            first = self._ask_durably()
            if n is None:
                return first
            found = [first]
            with suppress(SearchExhausted):
                while len(found) < n:
                    found.append(self._ask_durably())
            return found

    def _one_thread(self) -> AbstractContextManager[None]:
        """One thread for what uses BLAS; asking how many there are costs more than a small model does."""
        return one_thread() if getattr(self.explored.scores, "uses_blas", True) else _NOTHING

    def _ask_durably(self) -> Proposal:
        """What is offered again, else a new proposal that is in the journal before anybody sees it."""
        while self._offered:
            offered = self._offered.pop(0)
            if any(offered is pending for pending in self._pending):
                return offered
        with self._all_or_none():
            proposal = self._ask_elsewhere()
            if self._journal is not None:
                self._note(
                    "ask",
                    leaf=self._codec.encode(proposal.leaf),
                    actions=numbered(self.problem, proposal.actions),
                    path=proposal.path,
                    turn=[self._turn, self._initial_asks],
                    nodes=len(self.explored.graph),
                )
        return proposal

    def asked(
        self, leaf: State, actions: Sequence[Action], path: tuple[int, ...], turn: int, initial_asks: int
    ) -> None:
        """Take a leaf as asked for, as a journal says."""
        self._turn, self._initial_asks = turn, initial_asks
        if path:
            self.explored.graph.visits[list(path)] += 1
        self._propose(leaf, actions, path)

    def forget(self, proposal: Proposal, *, again: bool = True, note: Any = None) -> None:
        """Take back a pending proposal whose reward will not come.

        Parameters
        ----------
        proposal : Proposal
            What :meth:`ask` gave.
        again : bool
            Whether its leaf may be asked for again.
        note : optional
            What else to keep in the journal, of the kind that JSON knows.
        """
        found = self._which(proposal.leaf, proposal)
        if found is None:
            raise ValueError(f"{proposal!r} is not pending: it was told, taken back or never asked for")
        self.release_pending()
        self._note("forget", pending=found, again=again, note=note)
        del self._pending[found]
        graph = self.explored.graph
        graph.visits[list(proposal.path)] -= 1
        if again and not self.repeats:
            self.explored.reopen([self.explored.find(proposal.leaf)])

    def _ask_elsewhere(self) -> Proposal:
        """A leaf that is not pending, even if it may be evaluated again, as long as there are others."""
        if not self.repeats or not self._pending:
            return self._ask()
        pending = self.explored.nodes([proposal.leaf for proposal in self._pending])
        self.explored.graph.closed[pending] = True
        try:
            return self._ask()
        except SearchExhausted:
            self.explored.reopen(pending)
            return self._ask()
        finally:
            self.explored.reopen(pending)

    def back_up(self, episodes: Sequence[Episode], paths: Iterable[Sequence[int]] = ()) -> None:
        """Bring scores and values up to date, where it matters.

        Values not now, if a replay will do so later and nothing depends on them until then.
        """
        explored, refresh = self.explored, self.refresh
        nodes = refresh.nodes(explored, paths or [episode.path for episode in episodes], len(self._told))
        explored.scores.refresh(nodes)
        if nodes is None and self.fast_forward and not refresh.selective and self._from_scratch:
            return
        self.backup.back_up(explored, episodes, nodes)

    @property
    def _from_scratch(self) -> bool:
        return bool(getattr(self.backup, "from_scratch", False))

    def pretend_pending(self) -> None:
        """Let the model count what is pending as observed, but for its mean."""
        fresh = self._pending[self._pretended :]
        if not fresh or self._standardizer.waiting or not hasattr(self.explored.scores, "fantasise"):
            return
        graph = self.explored.graph
        if self._pretended == 0 and not isinstance(self.refresh, Eager):
            self._values_before = graph.v_mean[: len(graph)].copy(), graph.v_var[: len(graph)].copy()
        for proposal in fresh:
            node = self.explored.node(proposal.leaf)
            self._pretended += 1
            self.explored.scores.fantasise(node)
        # All of them, so that it does not matter which were released in between by somebody who looked.
        self.back_up([], [proposal.path for proposal in self._pending])

    def release_pending(self) -> None:
        """Back to what is really known."""
        if self._pretended > 0:
            cast(JointScores, self.explored.scores).discard()
            self._pretended = 0
            if self._values_before is not None and self.refresh.selective:
                self._restore_values(*self._values_before)
            else:
                self.back_up([])

    def _restore_values(self, mean: FloatArray, variance: FloatArray) -> None:
        """Values as they were before anything was pretended; of nodes since then, by what is known now."""
        graph = self.explored.graph
        graph.v_mean[: mean.size], graph.v_var[: variance.size] = mean, variance
        since = np.arange(mean.size, len(graph))
        since = since[graph.level[since] >= 0]
        since = since[np.argsort(-graph.level[since], kind="stable")]
        self.explored.scores.refresh(since)
        self.backup.back_up(self.explored, [], since)

    def _ask(self) -> Proposal:
        self.pretend_pending()
        turn, self._turn = self._turn, (self._turn + 1) % (len(self.refinements) + 1)
        if turn > 0 and self._initial_asks == 0:
            proposal = self._refine(self.refinements[turn - 1])
            if proposal is not None:
                return proposal
        while True:
            path, actions = self._descend()
            self.expansion.expand(self.explored, path[-1])
            finished = self._roll_out(path[-1])
            if finished is not None:
                visits = self.explored.graph.visits
                for node in path:  # few of them: faster than indexing by a list
                    visits[node] += 1
                return self._propose(finished[0], (*actions, *finished[1]), tuple(path))
            self.back_up([])  # the DAG has grown without a reward
            self.explored.note_change("back up")

    def propose(self, leaf: State, actions: Sequence[Action]) -> Proposal:
        """A leaf of your own choice, as if it had been asked for: :meth:`ask` will not give it again.

        ``actions`` lead there from the root.
        """
        if self._journal is not None:
            self._note("propose", actions=numbered(self.problem, actions))
        return self._propose(leaf, actions)

    def _propose(self, leaf: State, actions: Sequence[Action], path: tuple[int, ...] = ()) -> Proposal:
        node = self.explored.node(leaf)
        if not self.repeats:  # asked for once is enough, whether its reward comes soon, late or never
            self.explored.graph.closed[node] = True
        proposal = Proposal(leaf, tuple(actions), path)
        self._pending.append(proposal)
        return proposal

    def _refine(self, refinement: Refinement) -> Proposal | None:
        """A leaf near the best so far, if there is a best and nobody plays against it."""
        best = self.incumbent()
        if best is None or best.actions is None or self._adversarial():
            return None
        found = refinement.refine(self.explored, best.leaf, best.actions, self.rng)
        return None if found is None else self._propose(found[0], found[1])

    def incumbent(self) -> Evaluation | None:
        """The best evaluation so far: by reward, or by mean g where noise is learnt."""
        if not self.history or not self._learns_noise:
            return self._best
        nodes = [episode.leaf for episode in self._told]
        self.explored.scores.refresh(nodes)
        return self.history[int(np.argmax(self.explored.scores.moments()[0][nodes]))]

    def tell(
        self, evaluated: Proposal | State, reward: float, noise: float | None = None, *, note: Any = None
    ) -> Evaluation:
        """Learn a leaf's reward.

        Parameters
        ----------
        evaluated : Proposal or leaf
            What was evaluated: a proposal, or any leaf, asked for or not.
        reward : float
            Its reward; finite, or it is refused and the model stays as it was.
        noise : float, optional
            Variance of this very reward, in squared units of the reward.
        note : optional
            What else to keep in the journal, of the kind that JSON knows.
        """
        return self._tell(evaluated, reward, noise, time.perf_counter() - self._started, note)

    def relearn(
        self,
        evaluated: Proposal | State,
        content: Mapping[str, Any],
        learnt: Mapping[str, Any] | None,
    ) -> Gaussian:
        """:meth:`tell` as a journal says; ``learnt`` are the hyperparameters that followed, if any did.

        Returns what was believed of the leaf's g just before.
        """
        self.release_pending()
        leaf = evaluated.leaf if isinstance(evaluated, Proposal) else evaluated
        expected = self.explored.score(self._leaf_node(leaf))
        self._recorded = learnt
        with suppress(CovarianceError):  # which refused this reward then, too
            self._tell(evaluated, content["reward"], content["noise"], content["seconds"], None)
        self._recorded = None
        return expected

    def _tell(
        self, evaluated: Proposal | State, reward: float, noise: float | None, seconds: float, note: Any
    ) -> Evaluation:
        proposal = evaluated if isinstance(evaluated, Proposal) else None
        leaf = proposal.leaf if proposal is not None else evaluated
        value = checked_reward(reward, leaf)
        if noise is not None:
            noise = checked_noise(noise)
        node = self._leaf_node(leaf)
        self.release_pending()
        if self._journal is not None:  # before anything is learnt: the reward has been paid for
            self._note_reward(node, proposal, value, noise, seconds, note)
        with self._one_thread(), self._repeatable():
            self._drop(leaf, proposal)
            self.explored.graph.closed[node] = not self.repeats
            actions = None if proposal is None else proposal.actions
            evaluation = self._record(leaf, actions, value, seconds)
            if self.refinements and evaluation is self._best and evaluation.actions is not None:
                self.expansion.adopt(self.explored, evaluation.actions)
            episode = Episode(() if proposal is None else proposal.path, node, value, noise)
            self._told.append(episode)
            self._learn(self._standardizer.admit(episode))
        return evaluation

    def _note_reward(
        self,
        node: int,
        proposal: Proposal | None,
        reward: float,
        noise: float | None,
        seconds: float,
        note: Any,
    ) -> None:
        leaf, expected = self.explored.graph.states[node], self.explored.score(node)
        pending, actions = self._which(leaf, proposal), None
        if proposal is not None:
            # What is pending is known by its place; the root may have moved since it was asked for.
            actions = [] if pending is not None else numbered(self.problem, proposal.actions)
        self._note(
            "tell",
            leaf=self._codec.encode(leaf),
            actions=actions,
            path=() if proposal is None else proposal.path,
            pending=pending,
            reward=reward,
            noise=noise,
            seconds=seconds,
            expected=[float(number) if math.isfinite(number) else 0.0 for number in expected],
            note=note,
        )

    def _drop(self, leaf: State, proposal: Proposal | None = None) -> None:
        """Let a proposal be pending no longer: this very one, else the oldest for its leaf."""
        found = self._which(leaf, proposal)
        if found is not None:
            del self._pending[found]

    def _which(self, leaf: State, proposal: Proposal | None) -> int | None:
        """Number of a pending proposal; one that has travelled is known by its leaf."""
        for number, other in enumerate(self._pending):
            if other is proposal:
                return number
        return next(
            (n for n, other in enumerate(self._pending) if self.explored.same(other.leaf, leaf)), None
        )

    def settle(self) -> None:
        """Learn from the rewards there are, if they are still held back to be standardised with more."""
        self._note("settle")
        with one_thread(), self._all_or_none():
            self._learn(self._standardizer.release())

    def steps(
        self,
        budget: int,
        stop: Stop | None = None,
        *,
        executor: Executor | None = None,
        n_jobs: int | None = None,
        timeout: float | None = None,
        on_error: Literal["raise", "skip"] | float = "raise",
        deterministic: bool = False,
    ) -> Iterator[Evaluation]:
        """Evaluate ``budget`` leaves, one per iteration, as many at once as there are workers.

        Ends early if nothing is left to evaluate, or for a reason to ``stop``; evaluations that have begun
        are waited for.

        Parameters
        ----------
        budget : int
            How many.
        stop : Stop, optional
            Reasons to stop before.
        executor : concurrent.futures.Executor, optional
            Evaluates; by default this very thread does.
        n_jobs : int, optional
            Evaluate in so many processes; -1 for one per core.
        timeout : float, optional
            Seconds after which an evaluation counts as failed.
        on_error : "raise", "skip" or float
            What an evaluation that fails means: an error that names the leaf, after which a further call goes
            on; nothing; or this reward.
        deterministic : bool
            Whether rewards are learnt in the order in which they were asked for. Then the same seed gives the
            same run, whatever the timing, but a slow evaluation may keep workers waiting.
        """
        if on_error not in ("raise", "skip") and not is_finite(on_error):
            raise ValueError(f"on_error must be 'raise', 'skip' or a finite reward, got {on_error!r}")
        budget = _checked_budget(budget)
        pool = make_pool(self.problem, executor, n_jobs, timeout, deterministic)
        return self._steps(budget, stop or Stop(), pool, on_error)

    def _steps(self, budget: int, stop: Stop, pool: Pool, on_error: str | float) -> Iterator[Evaluation]:
        self._note("run", budget=len(self.history) + budget)
        self._stopped, began = "budget", time.perf_counter()
        running: list[Running] = []
        left = budget
        try:
            while True:
                while left > 0 and len(running) < pool.workers():
                    try:
                        proposal = self.ask()
                    except SearchExhausted:
                        logger.info(
                            "every leaf has been evaluated or is, after %d rewards", len(self.history)
                        )
                        self._stopped, left = "exhausted", 0
                        break
                    left -= 1
                    try:
                        running.append(pool.start(self.problem, proposal))
                    except BaseException:
                        self._put_off(proposal)
                        raise
                if not running:
                    return
                for ended in pool.finished(running, self.problem):
                    running.remove(ended)
                    evaluation = self._take(ended, on_error)
                    if evaluation is not None:
                        yield evaluation
                    if self._stopped == "budget" and self.reason_to(stop, time.perf_counter() - began):
                        left = 0
        finally:
            try:
                for one in running:
                    one.future.cancel()
                    if self._journal is not None and self._journal.broken:
                        continue  # what the journal does not take must not be known here either
                    if one.future.done() and breakdown(one.future) is None:
                        self._take(one, "skip")  # paid for already
                    else:
                        self._put_off(one.proposal)
            finally:
                pool.close()

    def _put_off(self, proposal: Proposal) -> None:
        """Its evaluation was cut off: with a journal it is offered again, as after a crash."""
        if self._journal is None:
            self.forget(proposal)
        elif not self._journal.broken:
            self._offered.append(proposal)

    def reason_to(self, stop: Stop, seconds: float) -> str | None:
        """Why to stop now, after so many seconds, if there is a reason; :meth:`result` then tells it."""
        best = self._best
        if best is None:  # nothing to judge by but the time
            reason = stop.reason(-math.inf, 0, seconds, lambda: None)
        else:
            since_best = len(self.history) - best.step
            reason = stop.reason(best.reward, since_best, seconds, self._probability_now_and_then)
        if reason is not None:
            self._stopped = reason
        return reason

    def run(self, budget: int, stop: Stop | None = None, **execution: Any) -> Result:
        """Evaluate ``budget`` leaves, or fewer if there is a reason to stop; return what is known then.

        ``execution`` is where and how, as for :meth:`steps`: ``executor``, ``n_jobs``,
        ``timeout``, ``on_error``, ``deterministic``.
        """
        for _ in self.steps(budget, stop, **execution):
            pass
        return self.result()

    def reroot(self, state: State) -> None:
        """Go on from a state below the root, after a move in a game, say; everything learnt is kept.

        The problem must have ``from_state``. A state outside the explored DAG may be two decisions away.
        """
        from_state = getattr(self.problem, "from_state", None)
        if from_state is None:
            raise ProblemError(f"reroot needs a from_state(state) method of {type(self.problem).__name__}")
        self.release_pending()
        explored, graph = self.explored, self.explored.graph
        node = explored.find(state)
        way = self._way_to(state) if node < 0 or graph.level[node] < 0 else None
        if self._journal is not None:  # once it is known to be possible
            self._note("reroot", state=self._codec.encode(state))
        with self._repeatable():
            if way is not None:
                self.expansion.adopt(explored, way)
                node = explored.node(state)
                graph.level[node] = max(graph.level[node], graph.level[explored.root] + len(way))
            self.problem = from_state(state)
            explored.move_root(node, self.problem)
            self._sampled, self._probability = None, (0, None)  # they were of the old root
            self.back_up([])

    def _way_to(self, state: State) -> list[Action]:
        """Actions from the root to a state that is at most two decisions away."""
        level: list[tuple[State, list[Action]]] = [(self.problem.root(), [])]
        for _ in range(2):
            level = [
                (self.problem.step(parent, action), [*way, action])
                for parent, way in level
                for action in self.problem.actions(parent)
            ]
            for found, way in level:
                if self.explored.same(found, state):
                    return way
        raise ValueError(
            f"{state!r} is neither in the explored DAG nor within two decisions of the root; make a new "
            "search of problem.from_state(state)"
        )

    # The parts of a step ------------------------------------------------------------------------

    def _descend(self) -> tuple[list[int], list[Action]]:
        """Nodes from the root to where the explored part ends, and the actions between them."""
        graph = self.explored.graph
        path = [self.explored.root]
        actions: list[Action] = []
        if self._initial_asks > 0:
            self._initial_asks -= 1
            return path, actions
        # Compiled code looks at children in the DAG as they are, and a subclass may rate them otherwise.
        can_follow = "follow" in vars(type(self.policy)) and type(self.expansion) in (AllChildren, OneChild)
        draw = TieBreaker(self.rng)
        while True:
            if can_follow and self._follow(path, actions, draw):
                return path, actions
            if graph.closed[path[-1]]:
                path.pop()
                if not path:
                    self.settle()
                    raise SearchExhausted("every leaf has been evaluated or asked for")
                actions.pop()
            options = self.expansion.options(self.explored, path[-1])
            if options is None:
                return path, actions
            option = self._choose(options, draw)
            if option is None:
                self.explored.close(path[-1])
                continue
            child, new = options.enter(option)
            path.append(child)
            actions.append(options.action(option))
            if new:
                return path, actions

    def _follow(self, path: list[int], actions: list[Action], draw: TieBreaker) -> bool:
        """Go on by compiled code, as far as that can tell where to; whether the descent has ended."""
        explored, problem = self.explored, self.problem
        one_by_one = type(self.expansion) is OneChild
        follow = self.policy.follow  # type: ignore[attr-defined]
        nodes, numbers, next_number = follow(explored, path[-1], draw, one_by_one)
        for node, number in zip(nodes.tolist(), numbers.tolist(), strict=True):
            actions.append(problem.actions(explored.graph.states[path[-1]])[number])
            path.append(node)
        if next_number == UNKNOWN:
            return False
        children = explored.children(path[-1])
        before = len(explored.graph)
        number = int(next_number)  # without compilation it would be NumPy's, which a journal does not take
        path.append(explored.enter(path[-1], children, number))
        actions.append(children.actions[number])
        return path[-1] == before

    def _choose(self, options: Options, draw: TieBreaker) -> int | None:
        """The option the policy rates best, ties broken at random; ``None`` if all are closed."""
        eligible = np.flatnonzero(options.open)
        if eligible.size == 0:
            return None
        ratings = self.policy.rate(options)[eligible]
        best = eligible[ratings == ratings.max()]
        if best.size == 0:
            state = self.explored.graph.states[options.node]
            raise DagSearchError(f"{self.policy!r} rates an option at {state!r} as not a number")
        return int(best[draw.pick(best.size)])

    def _roll_out(self, node: int) -> tuple[State, list[Action]] | None:
        """A leaf below the node; ``None`` if only leaves turned up that must not be repeated."""
        state = self.explored.graph.states[node]
        if not self._told or self._standardizer.waiting:  # nothing is known yet that a roll-out could use
            return Uniform().finish(self.explored, state, self.rng)
        finished = self.rollout.finish(self.explored, state, self.rng)
        return finished if finished is not None else Uniform().finish(self.explored, state, self.rng)

    def _take(self, ended: Running, on_error: str | float) -> Evaluation | None:
        """Learn what an evaluation gave; ``None`` if it failed, and failures do not count."""
        proposal, leaf = ended.proposal, ended.proposal.leaf
        error = TimeoutError("it took longer than the timeout") if ended.late else ended.future.exception()
        reward = float("nan")
        if error is None:
            try:
                reward = checked_reward(ended.future.result(), leaf)
            except RewardError as refused:
                error = refused
        if error is not None:
            described = f"{type(error).__name__}: {error}"
            if isinstance(on_error, str):
                self.forget(proposal, again=False, note={"failure": described})
            if on_error == "raise":
                failure = EvaluationError(
                    f"evaluating {leaf!r} failed after {len(self.history)} evaluations "
                    f"({described}). Nothing told before is lost: call run again to "
                    "go on with another leaf, result() for what is known, or see error.result"
                )
                failure.result = self.result()
                raise failure from error
            logger.warning("evaluating %r failed (%s)", leaf, described)
            if on_error == "skip":
                return None
            reward = float(on_error)
        return self.tell(proposal, reward)

    def _learn(self, episodes: Sequence[Episode]) -> None:
        """Condition the scores and back up. A reward that the scores refuse does not hold up the others."""
        refused: list[CovarianceError] = []
        for episode in episodes:
            try:
                self.explored.scores.condition(episode.leaf, episode.reward, episode.noise)
            except CovarianceError as error:
                refused.append(error)
        if episodes and self.evidence is not None and self.evidence.due(len(self._told)):
            self._learn_hyperparameters(self.evidence)
        elif getattr(self.explored.scores, "outgrown", False):
            self._outgrow()
        self.back_up(episodes)
        if refused:
            raise refused[0]

    def _learn_hyperparameters(self, evidence: Evidence) -> None:
        """Make the scores anew with the hyperparameters that explain all rewards best."""
        scale_before = self._standardizer.scale
        try:
            self._refit(evidence)
        except BaseException:  # Ctrl-C, say: beliefs and units must belong together
            self._standardizer.scale = scale_before
            raise

    def _refit(self, evidence: Evidence) -> None:
        explored, old = self.explored, cast(JointScores, self.explored.scores)
        assert self._shape is not None
        self._standardizer.recalibrate([episode.reward for episode in self._told])
        leaves, rewards, noises = self._all_rewards()
        rows = old.covariance.represent([explored.graph.states[leaf] for leaf in np.unique(leaves)])
        observed = by_leaf(rows, leaves, rewards, noises)
        if self._recorded is not None:
            covariance, noise = evidence.recall(old.covariance, self._recorded), self._recorded["noise"]
        else:
            covariance, noise = evidence.maximise(old.covariance, self._noise(old), observed, shape_rng())
        if self._journal is not None:
            values = [parameter.value for parameter in covariance.hyperparameters]
            self._journal.append("learn", {"values": values, "noise": noise})
        scores = old.refitted(covariance, noise, explored.graph.states)
        scores.condition_all(leaves, rewards, noises)
        explored.scores = scores
        explored.increments = self._shape.increments(covariance)
        logger.debug("after %d rewards: %r, noise %.3g", len(leaves), covariance, noise)

    def _all_rewards(self) -> tuple[list[int], list[float], list[float | None]]:
        """Leaf, reward and noise of all that was told, in the model's units."""
        told = [self._standardizer.standardized(episode) for episode in self._told]
        rewards = [episode.reward for episode in told]
        return [episode.leaf for episode in told], rewards, [episode.noise for episode in told]

    def _outgrow(self) -> None:
        """Let scores take over whose cost does not grow with the rewards."""
        leaves, rewards, noises = self._all_rewards()
        scores = cast(KernelScores, self.explored.scores).induced(np.unique(leaves).tolist())
        scores.condition_all(leaves, rewards, noises)
        self.explored.scores = scores
        logger.debug("after %d rewards: scores by landmarks", len(leaves))

    def _noise(self, scores: JointScores) -> Hyperparameter:
        """What to learn of the noise: nothing, if rewards have none and leaves something of their own."""
        if self._learns_noise:
            return Hyperparameter("noise", scores.noise, 0.1, 1.5)
        if scores.covariance.private > 0.0:
            return Hyperparameter("noise", scores.noise, scores.noise, 0.0)
        return Hyperparameter("noise", scores.noise, 1e-3, 1.5)

    def _leaf_node(self, leaf: State) -> int:
        node = self.explored.find(leaf)
        if node < 0:
            validate = getattr(self.problem, "validate", None)
            if validate is not None:
                validate(leaf)
            remaining = len(self.problem.actions(leaf))
            node = self.explored.node(leaf) if remaining == 0 else -1
        if node < 0 or not self.explored.graph.terminal[node]:
            raise ProblemError(
                f"cannot tell the reward of {leaf!r}: it is no leaf, the problem has actions there. "
                "Tell the reward of a complete sequence of decisions"
            )
        return node

    def _record(
        self, leaf: State, actions: tuple[Action, ...] | None, reward: float, seconds: float
    ) -> Evaluation:
        best = max(reward, self.history[-1].best_reward) if self.history else reward
        evaluation = Evaluation(len(self.history) + 1, leaf, actions, reward, best, seconds)
        if self._best is None or reward > self._best.reward:
            self._best = evaluation
        self.history.append(evaluation)
        return evaluation

    # What is known --------------------------------------------------------------------------------

    @property
    def pending(self) -> tuple[Proposal, ...]:
        """What was asked for and not told yet, the oldest first."""
        return tuple(self._pending)

    def belief(self, state: State) -> Belief:
        """Belief over g and v of a state, explored or not, in units of the reward.

        What is pending does not count.
        """
        self.release_pending()
        explored, graph = self.explored, self.explored.graph
        node = explored.find(state)
        if node >= 0:
            g, v, visits = explored.score(node), explored.value(node), int(graph.visits[node])
        else:
            mean, variance = explored.scores.predict([state])
            g, visits = Gaussian(float(mean[0]), float(variance[0])), 0
            delta = explored.increments.at(explored.increments.depth - self._steps_left(state))
            v = Gaussian(g.mean + delta.mean, g.variance + delta.variance)
        rescale = self._standardizer.in_units_of_reward
        return Belief(rescale(g), rescale(v), visits)

    def _steps_left(self, state: State) -> int:
        """Decisions from ``state`` to a leaf along first actions, at most the problem's depth."""
        for steps in range(self.explored.increments.depth):
            actions = self.problem.actions(state)
            if len(actions) == 0:
                return steps
            state = self.problem.step(state, actions[0])
        return self.explored.increments.depth

    def best_action(self, state: State) -> Action | None:
        """The action with the best mean value; ``None`` where the explored part ends."""
        self.release_pending()
        node = self.explored.find(state)
        if node < 0 or self.explored.graph.count[node] == 0:
            return None
        options = self.expansion.options(self.explored, node)
        assert options is not None
        return options.action(int(np.argmax(self.policy.value(options))))

    def recommend(self) -> Line:
        """The path of best mean v, continued by best mean g from where the explored part ends."""
        states, actions = [self.problem.root()], []
        explored = 0
        while len(self.problem.actions(states[-1])) > 0:
            action = self.best_action(states[-1])
            if action is None:
                action = self._best_score(states[-1])
            else:
                explored += 1
            actions.append(action)
            states.append(self.problem.step(states[-1], action))
        return Line(tuple(states), tuple(actions), explored)

    def _best_score(self, state: State) -> Action:
        children = Children(self.problem, state, self.problem.actions(state))
        mean, _ = self.explored.scores.predict(children.states)
        return children.actions[int(np.argmax(player_at(self.problem, state) * mean))]

    def result(self) -> Result:
        """What is known now."""
        history = tuple(self.history)
        value, probability = self._optimum()
        if not history:
            return Result(None, None, None, value, None, self._stopped, history)
        if self._adversarial():
            line = self.recommend()
            leaf = self.explored.find(line.states[-1])
            told = [e.reward for e in history if leaf >= 0 and self.explored.find(e.leaf) == leaf]
            reward = float(np.mean(told)) if told else None
            return Result(line.states[-1], line.actions, reward, value, None, self._stopped, history)
        best = self.incumbent()
        assert best is not None
        reward = best.reward
        if self._learns_noise:
            leaf = self.explored.find(best.leaf)
            reward = float(np.mean([episode.reward for episode in self._told if episode.leaf == leaf]))
        return Result(best.leaf, best.actions, reward, value, probability, self._stopped, history)

    def sample_optimum(self, count: int = _SAMPLES, most: int = _LEAVES) -> Optimum | None:
        """Joint samples of what the leaves earn that may be best, evaluated or not, in units of the reward.

        Where not all leaves can be looked at, ``most`` are looked at beside the evaluated ones. ``None`` as
        long as nothing is known, where MIN decides, and with thousands of evaluations.
        """
        if (
            not self._told
            or self._standardizer.waiting
            or not hasattr(self.explored.scores, "joint")
            or len(self.history) > _MOST_SAMPLED
            or self._adversarial()
        ):
            return None
        self.release_pending()
        known = (len(self._told), count, most)
        if self._sampled is not None and self._sampled[0] == known:
            return self._sampled[1]
        leaves = np.unique([episode.leaf for episode in self._told]).tolist()
        good = sorted((e for e in self.history if e.actions is not None), key=lambda e: -e.reward)
        paths = ((evaluation.leaf, evaluation.actions or ()) for evaluation in good)
        with one_thread():
            optimum = sample_optimum(self.explored, leaves, paths, count, shape_rng(), most)
        in_units = self._standardizer.samples_in_units_of_reward(optimum.samples)
        self._sampled = known, optimum._replace(samples=in_units)
        return self._sampled[1]

    def _optimum(self) -> tuple[Gaussian, float | None]:
        """Belief over the best reward there is, and the probability that the best leaf so far has it."""
        best, optimum = self.incumbent(), self.sample_optimum()
        if best is None or optimum is None:
            return self.belief(self.problem.root()).v, None
        own = next(
            number for number, leaf in enumerate(optimum.leaves) if self.explored.same(leaf, best.leaf)
        )
        # The best leaf may be tied with others, and samples of what is known differ by rounding.
        rounding = 5e-3 * float(np.std([episode.reward for episode in self._told]))
        tied = optimum.samples[own] >= optimum.best - rounding
        return Gaussian(float(optimum.best.mean()), float(optimum.best.var())), float(tied.mean())

    def _probability_now_and_then(self) -> float | None:
        """That the best leaf so far is the best of all, as of at most a tenth of the evaluations ago."""
        known_at, _ = self._probability
        if len(self.history) >= max(known_at + 1, round(1.1 * known_at)):
            self._probability = len(self.history), self._optimum()[1]
        return self._probability[1]

    def _adversarial(self) -> bool:
        """Whether MIN decides anywhere in the explored part."""
        return self.explored.graph.adversarial


@contextmanager
def _abandoning(journal: Journal) -> Iterator[None]:
    try:
        yield
    except (CovarianceError, SearchExhausted, JournalError):
        raise
    except BaseException as error:
        journal.abandon(error)
        raise


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
    seed: int | np.random.Generator | None = None,
    progress: bool = False,
    journal: str | PathLike[str] | None = None,
    **execution: Any,
) -> Result:
    """Find the best leaf of a problem with ``budget`` evaluations.

    The first fifth of them, at most 20, are random. Then descents by upper confidence of v, completed by
    upper confidence of g, take turns with leaves near the best so far. Rewards are standardised,
    hyperparameters learnt from the evidence. ``docs/beyond.md`` says what each of these is worth.

    Parameters
    ----------
    problem : Problem
        What to search.
    budget : int
        Number of rewards to ask for, at most.
    covariance : Covariance, optional
        Which states are alike; by default the problem's own, else that of subsets where the problem says
        which items are in the end (see :class:`dagsearch.covariances.SetKernel`), else the overlap of the
        states' items.
    noisy : bool
        Whether the same leaf may earn another reward next time. Then leaves are evaluated again where that
        pays, the noise is learnt, and the best leaf is the one with the best mean g. Otherwise no leaf is
        evaluated twice.
    patience : int, optional
        Stop after so many evaluations in a row without a better reward.
    target : float, optional
        Stop once a reward is at least this.
    seconds : float, optional
        Stop once the search has lasted so long.
    confidence : float, optional
        Stop once the best leaf so far is the best of all with this probability.
    seed : int, numpy Generator or None
        Source of all randomness.
    progress : bool
        Whether to show a bar with the best reward so far.
    journal : path, optional
        File in which everything that happens is kept. If it exists, its search goes on until there are
        ``budget`` rewards in all.
    **execution
        Where and how rewards are computed, as for :meth:`Search.steps`: ``executor``, ``n_jobs``,
        ``timeout``, ``on_error``, ``deterministic``.

    Raises
    ------
    EvaluationError
        If ``problem.reward`` fails; ``error.result`` is what was found until then.
    SearchInterrupted
        On Ctrl-C, likewise. It is a ``KeyboardInterrupt``.
    """
    budget = _checked_budget(budget)
    stop = Stop(patience, target, seconds, confidence)
    if journal is not None and has_begun(journal):
        given = {"noisy": noisy} if covariance is None else {"noisy": noisy, "covariance": covariance}
        run = Search.resume(journal, problem, **given)
    else:
        initial = min(budget, 20, max(2, budget // 5))
        run = Search.default(
            problem, covariance=covariance, noisy=noisy, initial=initial, seed=seed, journal=journal
        )
    done = len(run.history)
    try:
        if done < budget:
            steps = run.steps(budget - done, stop, **execution)
            with tqdm(steps, total=budget, initial=done, disable=not progress, unit="eval") as bar:
                for evaluation in bar:
                    bar.set_postfix(best=f"{evaluation.best_reward:.4g}", refresh=False)
        return run.result()
    except KeyboardInterrupt as error:
        interrupted = SearchInterrupted(f"interrupted after {len(run.history)} evaluations; see error.result")
        interrupted.result = run.result()
        raise interrupted from error
    finally:
        run.close()


def _checked_budget(budget: int) -> int:
    if not is_whole(budget) or budget <= 0:
        raise ValueError(f"budget must be a positive whole number of evaluations, got {budget!r}")
    return int(budget)
