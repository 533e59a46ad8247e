"""A search in one line: of a problem, or of a function that makes choices."""

from collections.abc import Callable, Iterable
from dataclasses import replace
from os import PathLike
from typing import Any, Literal, Unpack, cast

import numpy as np

from dagsearch._internal.checks import checked_flag, is_finite
from dagsearch._internal.texts import shown
from dagsearch.costly.step_search import StepSearch
from dagsearch.covariances import Covariance
from dagsearch.errors import SearchInterrupted
from dagsearch.methods import default_initial
from dagsearch.problem import Problem, StepProblem, has_costly_steps
from dagsearch.problems.functions import Choose, FunctionProblem
from dagsearch.results import Evaluation, Gaussian, Result
from dagsearch.run.given import Known, checked_given, give, pairs_of
from dagsearch.run.runner import (
    Execution,
    check_execution,
    checked_budget,
    checked_callback,
    log_if_poor,
    until,
)
from dagsearch.run.stopping import Stop
from dagsearch.search import Search, Seed
from dagsearch.storage.opening import has_begun


class Settings(Execution, total=False):
    """The keywords of :func:`search`, which explains them."""

    covariance: Covariance | None
    noisy: bool
    patience: int | None
    target: float | None
    seconds: float | None
    tolerance: float | None
    seed: Seed
    progress: bool | Literal["notebook"]
    storage: str | PathLike[str] | None
    name: str | None
    known: Known
    start: Iterable[Any]


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
    progress: bool | Literal["notebook"] = False,
    storage: str | PathLike[str] | None = None,
    name: str | None = None,
    known: Known = (),
    start: Iterable[Any] = (),
    **execution: Unpack[Execution],
) -> Result:
    """Find the best leaf of a problem with ``budget`` evaluations.

    The first fifth of the evaluations, at most 10, are random leaves. After that each leaf is the one with
    the largest expected improvement a few changes away from good leaves, under a Gaussian belief whose
    hyperparameters are learnt from the evidence. Where predicted improvements do not come, turns go to random
    changes of good leaves. ``docs/method.md`` says this in ten lines, ``docs/beyond.md`` what each part
    gains.

    Whatever error ends the search, even one in your own problem, ``error.result`` is the result so far.

    Parameters
    ----------
    problem : Problem
        What to search.
    budget : int
        Maximum number of evaluations.
    covariance : Covariance, optional
        Which states are alike. By default the problem's own covariance; otherwise
        :class:`dagsearch.covariances.SetKernel` for subsets of fixed size,
        :class:`dagsearch.covariances.Views` where states have codes (choices, orders, sequences, tuples of
        decisions), and :class:`dagsearch.covariances.Overlap` of the states' items elsewhere.
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
    tolerance : float, optional
        Stop once the rest of the budget is unlikely to gain this much: when the upper limit of the forecast
        (:meth:`Search.forecast`) is less than ``tolerance`` above the best reward.
    seed : int, numpy Generator or None
        Source of all randomness.
    progress : bool or "notebook"
        Whether to show a progress bar; ``"notebook"`` draws rewards and their forecast in a notebook.
    storage : path or URL, optional
        Database that logs every event: the path of an SQLite file, or ``postgresql://…``. If it has the run
        already, its search continues until there are ``budget`` evaluations in total. The same call in
        another process, at the same time, takes part in the run.
    name : str, optional
        Name of the run in the database; by default the database has one run.
    known : sequence of (leaf, reward), optional
        Results that you have already: the search learns them first. They are in its history, and one of them
        may be the best leaf, but they do not count as evaluations. A leaf may be written as a dictionary,
        list or set; a mapping from leaves to rewards will do, and so does the ``history`` of another result.
    start : sequence of leaves, optional
        Leaves to evaluate first, such as presets. They count as evaluations.
    **execution
        Where and how rewards are computed, as for :meth:`Search.steps`: ``executor``, ``n_jobs``,
        ``timeout``, ``on_error``, ``deterministic``; ``callback``, which is called with every evaluation and
        ends the run by returning ``True``; and ``lost_after``, the seconds after which a process of a stored
        run that is silent counts as dead, so that another one evaluates its leaf.

    Raises
    ------
    EvaluationError
        If ``problem.reward`` fails.
    SearchInterrupted
        On Ctrl-C. It is a ``KeyboardInterrupt``.
    """
    from dagsearch.report.report import shown_progress  # slow to import

    budget, stop = checked_budget(budget), Stop(patience, target, seconds, tolerance)
    noisy = checked_flag("noisy", noisy)
    if progress != "notebook" and not isinstance(progress, bool | np.bool_):
        raise ValueError(f"progress must be True, False or 'notebook', got {shown(progress)}")
    check_execution(execution, Settings.__annotations__)
    given = checked_given(problem, known, start)
    run = _search_of(problem, budget, covariance, noisy, seed, storage, name)
    sign = -1 if isinstance(problem, FunctionProblem) and problem.minimize else 1
    try:
        give(cast(Search, run), given)
        total = budget + run.data.known
        steps = until(cast(Search, run), total, stop, **execution)
        with shown_progress(progress, run.history, total, sign, has_costly_steps(problem)) as bar:
            for evaluation in steps:
                bar.update(sign * evaluation.best_reward)
        return log_if_poor(run.result())
    except Exception as error:
        if getattr(error, "result", None) is None:
            run.data.stopped = "error"
            error.result = run.after_error()  # type: ignore[attr-defined]
        raise
    except KeyboardInterrupt as error:
        interrupted = SearchInterrupted(f"interrupted after {len(run.history)} evaluations; see error.result")
        run.data.stopped = "interrupted"
        interrupted.result = run.result()
        raise interrupted from error
    finally:
        run.close()


def _search_of(
    problem: Any,
    budget: int,
    covariance: Covariance | None,
    noisy: bool,
    seed: Seed,
    storage: str | PathLike[str] | None,
    name: str | None,
) -> Search | StepSearch:
    """A new search, or that of a run that has begun."""
    if has_costly_steps(problem):
        if covariance is not None:
            raise ValueError("covariance does not apply to costly steps: steps with equal actions are alike")
        if noisy:
            raise ValueError("noisy does not apply to costly steps: every step is taken once")
        return StepSearch(problem, seed=seed, storage=storage, name=name)
    own: dict[str, Any] = {} if covariance is None else {"covariance": covariance}
    if storage is not None and has_begun(storage, name):  # perhaps with another budget
        return Search.resume(storage, problem, name=name, noisy=noisy, **own)
    own |= {"initial": default_initial(budget), "storage": storage, "name": name}
    return Search.default(problem, noisy=noisy, seed=seed, **own)


def maximize(function: Callable[[Choose], float], budget: int, **settings: Unpack[Settings]) -> Result:
    """Find the choices with which a function returns the largest number.

    Parameters
    ----------
    function : callable
        ``function(choose)`` calls ``choose(name, options)`` for every choice that it makes, and returns a
        number. Which choices it makes, and from which options, may depend on earlier choices, and on nothing
        else. It is called once for every evaluation. See :class:`dagsearch.problems.FunctionProblem`.
    budget : int
        Maximum number of evaluations, that is, of calls of the function.
    **settings
        ``covariance``, ``noisy``, ``patience``, ``target``, ``seconds``, ``tolerance``, ``seed``,
        ``progress``, ``storage``, ``name``, ``known``, ``start``, ``executor``, ``n_jobs``, ``timeout``,
        ``on_error``, ``deterministic``, ``callback``, ``lost_after``: as for :func:`dagsearch.search`.

    Returns
    -------
    Result
        ``best_state`` is a mapping from the names of the choices to their values, ``best_reward`` what the
        function returned.

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
    return search(FunctionProblem(function), budget, **settings)


def minimize(function: Callable[[Choose], float], budget: int, **settings: Unpack[Settings]) -> Result:
    """Find the choices with which a function returns the smallest number.

    Everything is as for :func:`maximize`, except that small numbers are good: ``target`` stops the search
    once the function returns at most that, rewards of ``known`` and those that ``callback`` sees are the
    function's own, and in the result ``best_reward`` and ``value`` are the smallest. Stored are the
    negative numbers that were searched.

    Examples
    --------
    >>> minimize(lambda choose: abs(choose("x", range(30)) - 7), budget=30, seed=0).best_reward
    0.0
    """
    if is_finite(target := settings.get("target")):  # the search refuses what is not
        settings["target"] = -cast(float, target)
    if is_finite(failed := settings.get("on_error")):
        settings["on_error"] = -cast(float, failed)
    settings["known"] = [(leaf, 0.0 - reward) for leaf, reward in pairs_of(settings.get("known", ()))]
    if (callback := checked_callback(settings.get("callback"))) is not None:
        settings["callback"] = lambda evaluation: callback(_turned_evaluation(evaluation))
    try:
        return turned(search(FunctionProblem(function, minimize=True), budget, **settings))
    except (Exception, SearchInterrupted) as error:
        if isinstance(result := getattr(error, "result", None), Result):
            error.result = turned(result)  # type: ignore[union-attr]
        raise


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
