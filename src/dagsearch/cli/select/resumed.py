"""The request in a stored run: what of it is taken, and what must be confirmed on the command line."""

import argparse
import shlex
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from dagsearch.cli.select.estimator import is_from_sklearn
from dagsearch.cli.select.options import Request
from dagsearch.errors import StorageError


def request_in(noted: Mapping[str, Any], options: argparse.Namespace) -> Request:
    """The request to continue, with what the command line changes: the run is ``options.storage``.

    Raises
    ------
    StorageError
        If the request is damaged, or if it names code or a scheduler that the command line does not confirm.
    """
    try:
        request = Request.from_json(noted)
    except TypeError as error:
        raise StorageError(
            f"{options.storage}: the request of 'dagsearch select' in it cannot be understood ({error})"
        ) from error
    changed: dict[str, Any] = {
        "estimator": _confirmed("estimator", request.estimator, options.estimator, is_from_sklearn),
        "cv": request.cv if isinstance(request.cv, int) else _confirmed("cv", request.cv, options.cv),
        "storage": str(options.storage),
        "name": options.name,
        "jobs": options.jobs or request.jobs,
        "cluster": options.cluster,
    }
    if request.cluster is not None and options.cluster is None and options.jobs is None:
        raise StorageError(
            f"the run names a Dask scheduler, {request.cluster!r}; resuming would connect to it and load "
            f"what it sends. If you trust it, add --cluster {shlex.quote(request.cluster)}; with --jobs 1, "
            "the subsets are scored here"
        )
    if options.budget is not None:
        changed["budget"] = options.budget
    return replace(request, **changed)


def _confirmed(
    option: str, noted: str | None, given: Any, is_harmless: Callable[[str], bool] = lambda _: False
) -> str | None:
    """The import path in a stored run, if it is harmless or confirmed by the command line."""
    if given is not None and given != noted:
        raise StorageError(
            f"--{option} {given}: the run's selection used {noted!r}; another one needs a new run"
        )
    if noted is None or given is not None or is_harmless(noted):
        return noted
    raise StorageError(
        f"the run names Python code, {noted!r}; resuming would import and run it. If you trust it, add "
        f"--{option} {shlex.quote(noted)}"
    )


def resume_command(request: Request, out: Path | None) -> str:
    """The command that continues a stored selection."""
    parts = ["dagsearch", "resume", str(request.storage)]
    if request.name is not None:
        parts += ["--name", request.name]
    if request.estimator is not None and not is_from_sklearn(request.estimator):
        parts += ["--estimator", request.estimator]
    if isinstance(request.cv, str):
        parts += ["--cv", request.cv]
    if request.cluster is not None:
        parts += ["--cluster", request.cluster]
    if out is not None:
        parts += ["--out", str(out), "--force"]
    return shlex.join(parts)
