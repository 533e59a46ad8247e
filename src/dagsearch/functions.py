"""Write a function, get a search: the largest or smallest result of a function that makes choices."""

from collections.abc import Callable
from dataclasses import replace
from os import PathLike
from typing import Literal, Unpack

from dagsearch.covariances import Covariance
from dagsearch.errors import SearchInterrupted
from dagsearch.execution.options import Execution
from dagsearch.execution.stopping import Stop
from dagsearch.problems.functions import Choose, FunctionProblem
from dagsearch.results import Result
from dagsearch.search import Seed, run_search
from dagsearch.values.gaussians import Gaussian


def maximize(
    function: Callable[[Choose], float],
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
    """Find the choices with which a function returns the largest number.

    Parameters
    ----------
    function : callable
        ``function(choose)`` calls ``choose(name, options)`` for every choice that it makes, and returns a
        number. Which choices it makes, and from which options, may depend on earlier choices, and on nothing
        else. It should make all choices before it computes: they are found by running it up to its last
        choice, many times. See :class:`dagsearch.problems.FunctionProblem`.
    budget : int
        Maximum number of evaluations: of complete runs of the function.
    covariance, noisy, patience, target, seconds, confidence, seed, progress, journal, **execution
        As for :func:`dagsearch.search`.

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
    problem = FunctionProblem(function)
    stop = Stop(patience, target, seconds, confidence)
    settings = {"covariance": covariance, "noisy": noisy, "seed": seed, "journal": journal}
    return run_search(problem, budget, stop, progress, execution, settings)


def minimize(
    function: Callable[[Choose], float],
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
    """Find the choices with which a function returns the smallest number.

    Everything is as for :func:`maximize`, except that small numbers are good: ``target`` stops the search
    once the function returns at most that, and in the result ``best_reward`` and ``value`` are the smallest,
    in the function's own sign. A journal holds the negative numbers that were searched.

    Examples
    --------
    >>> minimize(lambda choose: abs(choose("x", range(100)) - 70), budget=40, seed=0).best_reward
    0.0
    """
    problem = FunctionProblem(function, minimize=True)
    stop = Stop(patience, None if target is None else -target, seconds, confidence)
    failed = execution.get("on_error", "raise")
    if not isinstance(failed, str):
        execution["on_error"] = -failed
    try:
        settings = {"covariance": covariance, "noisy": noisy, "seed": seed, "journal": journal}
        found = run_search(problem, budget, stop, progress, execution, settings, sign=-1)
    except (Exception, SearchInterrupted) as error:
        if isinstance(result := getattr(error, "result", None), Result):
            error.result = turned(result)  # type: ignore[union-attr]
        raise
    return turned(found)


def turned(result: Result) -> Result:
    """The same result with the sign of all rewards turned."""
    return replace(
        result,
        best_reward=None if result.best_reward is None else 0.0 - result.best_reward,
        value=Gaussian(0.0 - result.value.mean, result.value.variance),
        minimized=not result.minimized,
        history=tuple(
            replace(
                evaluation,
                reward=0.0 - evaluation.reward,
                best_reward=0.0 - evaluation.best_reward,
                predicted=_turned(evaluation.predicted),
            )
            for evaluation in result.history
        ),
    )


def _turned(belief: Gaussian | None) -> Gaussian | None:
    return None if belief is None else Gaussian(0.0 - belief.mean, belief.variance)
