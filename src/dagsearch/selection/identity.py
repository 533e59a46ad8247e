"""What identifies data, an estimator and a scorer, so that only the same ones continue a stored run."""

from typing import Any

import joblib

from dagsearch.errors import StorageError


def identity_of(*things: Any) -> str:
    """A digest of objects by what they hold; functions and classes count by their names.

    Raises
    ------
    StorageError
        If something cannot be pickled, and so not be told from others of its kind.
    """
    try:
        return str(joblib.hash(things))
    except Exception as error:  # of pickle, in many kinds
        raise StorageError(
            "storage: a part of the estimator or the scoring cannot be told from others of its kind, so a "
            f"run might mix scores ({error}). Use functions and objects that can be pickled, or no storage"
        ) from error
