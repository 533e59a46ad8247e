"""The request that a journal holds: what of it is taken, and what must be confirmed on the command line."""

import argparse
import shlex
from collections.abc import Callable, Mapping
from dataclasses import replace
from pathlib import Path
from typing import Any

from dagsearch.cli.select.estimator import is_from_sklearn
from dagsearch.cli.select.options import Request
from dagsearch.errors import StorageError


def request_in(journal: Path, noted: Mapping[str, Any], options: argparse.Namespace) -> Request:
    """The request to continue, with what the command line changes.

    Raises
    ------
    StorageError
        If the request is damaged, or if it names code or a scheduler that the command line does not confirm.
    """
    try:
        request = Request.from_json(noted)
    except TypeError as error:
        raise StorageError(
            f"{journal}: the request of 'dagsearch select' in it cannot be understood ({error})"
        ) from error
    changed: dict[str, Any] = {
        "estimator": _confirmed("estimator", request.estimator, options.estimator, is_from_sklearn),
        "cv": request.cv if isinstance(request.cv, int) else _confirmed("cv", request.cv, options.cv),
        "journal": journal,
        "jobs": options.jobs or request.jobs,
        "cluster": options.cluster,
        "steer": options.steer,
    }
    if request.cluster is not None and options.cluster is None and options.jobs is None:
        raise StorageError(
            f"{journal} names a Dask scheduler, {request.cluster!r}; resuming would connect to it and load "
            f"what it sends. If you trust it, add --cluster {shlex.quote(request.cluster)}; with --jobs 1, "
            "the subsets are scored here"
        )
    if options.budget is not None:
        changed["budget"] = options.budget
    return replace(request, **changed)


def _confirmed(
    option: str, noted: str | None, given: Any, is_harmless: Callable[[str], bool] = lambda _: False
) -> str | None:
    """The import path in a journal, if it is harmless or confirmed by the command line."""
    if given is not None and given != noted:
        raise StorageError(
            f"--{option} {given}: the journal's selection used {noted!r}; another one needs a new journal"
        )
    if noted is None or given is not None or is_harmless(noted):
        return noted
    raise StorageError(
        f"the journal names Python code, {noted!r}; resuming would import and run it. If you trust it, add "
        f"--{option} {shlex.quote(noted)}"
    )


def resume_command(request: Request, out: Path | None) -> str:
    """The command that continues a selection with a journal."""
    parts = ["dagsearch", "resume", str(request.journal)]
    if request.estimator is not None and not is_from_sklearn(request.estimator):
        parts += ["--estimator", request.estimator]
    if isinstance(request.cv, str):
        parts += ["--cv", request.cv]
    if request.cluster is not None:
        parts += ["--cluster", request.cluster]
    if request.steer:
        parts += ["--steer"]
    if out is not None:
        parts += ["--out", str(out), "--force"]
    return shlex.join(parts)
