"""An embedded PostgreSQL server that lives as long as it is needed."""

import tempfile
import warnings
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from experiments.harness.peers import import_peer


@contextmanager
def embedded() -> Iterator[str]:
    """The address of an embedded server with an empty database, reachable only from this machine.

    At the end the server is stopped and its files are deleted, also after an error or Ctrl-C.
    """
    with tempfile.TemporaryDirectory(prefix="postgresql-") as folder:
        Path(folder).chmod(0o755)  # root's server runs as another user
        with warnings.catch_warnings(action="ignore"):  # about the place of its lock
            server = import_peer("pgserver").get_server(Path(folder, "data"), cleanup_mode="delete")
        with server:
            yield server.get_uri()
