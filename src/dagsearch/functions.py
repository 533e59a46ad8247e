"""Search a problem, or a function that makes choices, in one call."""

import inspect
from collections.abc import Callable, Iterable
from concurrent.futures import Executor
from copy import copy
from dataclasses import replace
from functools import partial, wraps
from os import PathLike
from typing import Any, ParamSpec, cast

from dagsearch._internal.checks import checked_flag, is_finite
from dagsearch.costly.step_search import StepSearch
from dagsearch.covariances import Covariance
from dagsearch.errors import ProblemError, SearchInterrupted
from dagsearch.log import LOST_AFTER
from dagsearch.methods import default_initial
from dagsearch.problem import Problem, State, StepProblem, has_costly_steps, is_minimized
from dagsearch.problems.functions import Choose, FunctionProblem
from dagsearch.results import Evaluation, Gaussian, Result
from dagsearch.run.runner import (
    Callback,
    Execution,
    Known,
    OnError,
    Stop,
    check_names,
    checked_budget,
    checked_callback,
    checked_given,
    give,
    pairs_of,
    until,
)
from dagsearch.search import Search, Seed
from dagsearch.storage.log import has_begun

P = ParamSpec("P")


def _hinting(function: Callable[P, Result]) -> Callable[P, Result]:
    """Add all keywords of :func:`search` to a function's signature, and hints for other libraries' keywords.

    Names are checked first: for ``n_trials=100``, Python would only report that the budget is missing.
    """
    parameters = dict(inspect.signature(function).parameters)
    if parameters.pop("settings", None) is not None:
        of_search = inspect.signature(search).parameters
        parameters |= {name: one for name, one in of_search.items() if one.kind is one.KEYWORD_ONLY}

    @wraps(function)
    def checked(*arguments: P.args, **settings: P.kwargs) -> Result:
        check_names(settings, parameters)
        return function(*arguments, **settings)

    signature = inspect.Signature([*parameters.values()], return_annotation=Result)
    checked.__signature__ = signature  # type: ignore[attr-defined]
    return checked


@_hinting
def search(
    problem: Problem | StepProblem,
    budget: int,
    *,
    covariance: Covariance | None = None,
    noisy: bool = False,
    patience: int | None = None,
    target: float | None = None,
    seconds: float | None = None,
    tolerance: float | None = None,
    seed: Seed = None,
    progress: bool = False,
    storage: str | PathLike[str] | None = None,
    name: str | None = None,
    known: Known = (),
    start: Iterable[Any] = (),
    executor: Executor | None = None,
    n_jobs: int | None = None,
    timeout: float | None = None,
    on_error: OnError = "raise",
    deterministic: bool = False,
    callback: Callback | None = None,
    lost_after: float = LOST_AFTER,
) -> Result:
    """Find the best leaf of a problem with ``budget`` evaluations.

    The first fifth of the evaluations, at most 10, are random leaves. After that each leaf is the one with
    the largest expected improvement a few changes away from good leaves, under a Gaussian belief whose
    hyperparameters are learnt from the evidence. If predicted improvements do not materialise, some turns go
    to random changes of good leaves. From 400 evaluations on, the search restarts with random leaves and a
    new model if a restart promises more than its forecast. ``docs/method.md`` describes the method,
    ``docs/results.md`` the results.

    If an error ends the search, even one in your own problem, ``error.result`` is the result so far.

    Parameters
    ----------
    problem : Problem
        What to search.
    budget : int
        Maximum number of evaluations.
    covariance : Covariance, optional
        Which states are similar. By default the problem's own covariance; otherwise
        :class:`dagsearch.covariances.SetKernel` for subsets of fixed size,
        :class:`dagsearch.covariances.Views` where states have codes (choices, orders, sequences, tuples of
        decisions), and :class:`dagsearch.covariances.Overlap` of the states' items elsewhere.
    noisy : bool
        Whether rewards are noisy. If so, leaves are evaluated again where that helps, the noise is learnt,
        and the best leaf is the one with the largest mean g. Otherwise no leaf is evaluated twice.
    patience : int, optional
        Stop after this number of consecutive evaluations without a better reward.
    target : float, optional
        Stop once a reward is at least this large.
    seconds : float, optional
        Stop after this number of seconds.
    tolerance : float, optional
        Stop once the rest of the budget is unlikely to gain this much: when the upper limit of the forecast
        (:meth:`Search.forecast`) is less than ``tolerance`` above the best reward.
    seed : int, numpy Generator or None
        Source of all randomness.
    progress : bool
        Whether to show a progress bar.
    storage : path or URL, optional
        Database that logs every event: the path of an SQLite file, or ``postgresql://…``. If the run exists,
        its search continues until there are ``budget`` evaluations in total. The same call in another
        process, at the same time, joins the run.
    name : str, optional
        Name of the run in the database; by default the database has one run.
    known : Result, mapping or sequence of (leaf, reward), optional
        Known rewards: the result of an earlier run, or leaves with their rewards. The search learns from them
        first. They are in its history, and one of them may be the best leaf, but they do not count as
        evaluations. A leaf may be written as a dictionary, list or set.
    start : sequence of leaves, optional
        Leaves to evaluate first, such as presets. They count as evaluations.
    executor : concurrent.futures.Executor, optional
        Evaluates leaves; by default the calling thread does.
    n_jobs : int, optional
        Number of processes to evaluate in; -1 for one per core.
    timeout : float, optional
        Seconds after which an evaluation counts as failed.
    on_error : "raise", "skip" or float
        What to do if an evaluation fails: raise an error, skip it, or use this reward.
    deterministic : bool
        Whether rewards are learnt in the order of the proposals.
    callback : callable, optional
        Called with every evaluation; the run ends if it returns ``True``.
    lost_after : float
        Seconds of silence after which a process of a stored run counts as dead; another process then
        evaluates its leaf.

    Raises
    ------
    EvaluationError
        If ``problem.reward`` fails.
    SearchInterrupted
        On Ctrl-C. It is a ``KeyboardInterrupt``.
    """
    from dagsearch.report.progress import Progress

    budget, stop = checked_budget(budget), Stop(patience, target, seconds, tolerance)
    noisy = checked_flag("noisy", noisy)
    progress = checked_flag("progress", progress)
    execution = Execution(
        executor=executor,
        n_jobs=n_jobs,
        timeout=timeout,
        on_error=on_error,
        deterministic=deterministic,
        callback=callback,
        lost_after=lost_after,
    )
    given = checked_given(problem, known, start)
    where: dict[str, Any] = {"storage": storage, "name": name}
    own: dict[str, Any] = {} if covariance is None else {"covariance": covariance}
    if has_costly_steps(problem):
        if covariance is not None:
            raise ValueError(
                "covariance does not apply to costly steps, where steps with equal actions are similar"
            )
        if noisy:
            raise ValueError("noisy does not apply to costly steps: every step is taken only once")
        run: Search | StepSearch = StepSearch(cast(StepProblem, problem), seed=seed, **where)
    elif storage is not None and has_begun(storage, name):  # perhaps with another budget
        run = Search.resume(storage, cast(Problem, problem), name=name, noisy=noisy, **own)
    else:
        own["initial"] = default_initial(budget)
        run = Search.default(cast(Problem, problem), noisy=noisy, seed=seed, **own, **where)
    sign = -1 if is_minimized(problem) else 1
    try:
        give(cast(Search, run), given)
        total = budget + run.data.known
        steps = until(cast(Search, run), total, stop, execution)
        with Progress(total, "evaluation", progress, len(run.history)) as bar:
            for evaluation in steps:
                bar.update(sign * evaluation.best_reward)
        return run.result()
    except Exception as error:
        if getattr(error, "result", None) is None:
            run.data.stopped = "error"
            error.result = run.after_error()  # type: ignore[attr-defined]
        raise
    except KeyboardInterrupt as error:
        goes_on = "error.result is the result so far" if storage is None else "the same call continues it"
        interrupted = SearchInterrupted(f"interrupted after {len(run.history)} evaluations: {goes_on}")
        run.data.stopped = "interrupted"
        interrupted.result = run.result()
        raise interrupted from error
    finally:
        run.close()


@_hinting
def maximize(
    function: Callable[[Choose], float] | Problem | StepProblem, budget: int, **settings: Any
) -> Result:
    """Find the choices with which a function returns the largest number.

    Parameters
    ----------
    function : callable or Problem
        ``function(choose)`` calls ``choose(name, options)`` for every choice, and returns a number. Its
        choices and their options may depend on earlier choices, and on nothing else. It is called once per
        evaluation. See :class:`dagsearch.problems.FunctionProblem`. A problem is searched as in
        :func:`dagsearch.search`.
    budget : int
        Maximum number of evaluations, that is, of calls of the function.
    **settings
        The keywords of :func:`dagsearch.search`.

    Returns
    -------
    Result
        ``best_state`` maps the names of the choices to their values; ``best_reward`` is the function's
        result.

    Examples
    --------
    >>> def area(choose):
    ...     shape = choose("shape", ["square", "rectangle"])
    ...     width = choose("width", range(1, 6))
    ...     height = choose("height", range(1, 4)) if shape == "rectangle" else min(width, 3)
    ...     return width * height
    >>> result = maximize(area, budget=30, seed=0)
    >>> result.best_reward, result.best_state["width"]
    (15.0, 5)
    """
    return search(_as_problem(function), budget, **settings)


@_hinting
def minimize(function: Callable[[Choose], float] | Problem, budget: int, **settings: Any) -> Result:
    """Find the choices of a function, or the leaf of a problem, with the smallest reward.

    Like :func:`maximize`, but small numbers are good: ``target`` stops the search once the function returns
    at most this number, ``known`` and ``callback`` use the function's own numbers, and so do ``best_reward``
    and ``value`` of the result. Storage holds the negated numbers.

    Examples
    --------
    >>> minimize(lambda choose: abs(choose("x", range(30)) - 7), budget=30, seed=0).best_reward
    0.0
    """
    if is_finite(target := settings.get("target")):  # the search refuses others
        settings["target"] = -cast(float, target)
    if is_finite(failed := settings.get("on_error")):
        settings["on_error"] = -cast(float, failed)
    settings["known"] = [(leaf, 0.0 - reward) for leaf, reward in pairs_of(settings.get("known", ()))]
    if (callback := checked_callback(settings.get("callback"))) is not None:
        settings["callback"] = lambda evaluation: callback(_turned_evaluation(evaluation))
    try:
        return turned(search(minimized(_as_problem(function)), budget, **settings))
    except (Exception, SearchInterrupted) as error:
        if isinstance(result := getattr(error, "result", None), Result):
            error.result = turned(result)  # type: ignore[union-attr]
        raise


def _as_problem(function: Any) -> Any:
    return function if hasattr(function, "root") else FunctionProblem(function)


def minimized(problem: Any) -> Any:
    """The problem of finding the smallest reward: a copy whose reward is the negative."""
    if has_costly_steps(problem) or hasattr(problem, "player"):
        raise ProblemError(
            f"{type(problem).__name__} cannot be minimised: negate its rewards, gains and values, and "
            "swap the players if there are two"
        )
    if is_minimized(problem) or isinstance(problem, type):  # the search explains what is wrong with a class
        return problem
    made = copy(problem)
    if not isinstance(problem, FunctionProblem):  # it negates the function's results itself
        object.__setattr__(made, "reward", partial(_negative, problem.reward))  # even if it is frozen
    object.__setattr__(made, "minimize", True)
    return made


def _negative(reward: Callable[[State], float], leaf: State) -> float:
    found = reward(leaf)
    return found if found is None else 0 - found  # the search refuses None


def turned(result: Result) -> Result:
    """The same result with the sign of all rewards reversed."""
    return replace(
        result,
        best_reward=None if result.best_reward is None else 0.0 - result.best_reward,
        value=None if result.value is None else _turned(result.value),
        minimized=not result.minimized,
        history=tuple(map(_turned_evaluation, result.history)),
    )


def _turned_evaluation(evaluation: Evaluation) -> Evaluation:
    return replace(
        evaluation,
        reward=0.0 - evaluation.reward,
        best_reward=0.0 - evaluation.best_reward,
        predicted=None if evaluation.predicted is None else _turned(evaluation.predicted),
    )


def _turned(belief: Gaussian) -> Gaussian:
    return Gaussian(0.0 - belief.mean, belief.variance)
