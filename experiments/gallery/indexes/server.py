"""A PostgreSQL server: an embedded one that lives as long as it is needed, or the user's own."""

import ctypes
import importlib.util
import os
import shutil
import signal
import subprocess
import sys
import tempfile
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path
from types import FrameType
from typing import Any

import psycopg

# PostgreSQL refuses to run as root. This user exists wherever root does.
_UNPRIVILEGED = "nobody"
# Seconds that a start may take, on a busy machine.
_START = 120.0
# Linux: send a signal when the parent dies.
_PR_SET_PDEATHSIG = 1


@contextmanager
def connected(dsn: str | None) -> Iterator[psycopg.Connection[Any]]:
    """A connection to the server at ``dsn``, or to an embedded server that is stopped afterwards."""
    if dsn is not None:
        with psycopg.connect(dsn) as connection:
            yield connection
        return
    with embedded() as own:
        connection = psycopg.connect(own)
        try:
            yield connection
        finally:
            connection.close()


@contextmanager
def embedded() -> Iterator[str]:
    """The address of an embedded server with an empty database; it can be reached from this machine only.

    The server is stopped and its files are deleted at the end, also after an error, Ctrl-C or ``SIGTERM``. If
    this process is killed, the server stops too (on Linux), but its files in the temporary folder remain.
    """
    binaries = _binaries()
    with _terminated_as_exit(), tempfile.TemporaryDirectory(prefix="gallery-postgresql-") as name:
        folder, user = Path(name), None
        if os.geteuid() == 0:
            user = _UNPRIVILEGED
            binaries = _copied(binaries, folder)
            shutil.chown(folder, user)
        data = folder / "data"
        initdb: list[str | Path] = [
            binaries / "initdb",
            "-D",
            data,
            "-U",
            "postgres",
            "--auth=trust",
            "--no-sync",
            "--encoding=UTF8",
        ]
        done = subprocess.run(initdb, user=user, cwd=folder, capture_output=True, text=True)
        if done.returncode != 0:
            raise RuntimeError(f"initdb of the embedded PostgreSQL failed:\n{done.stderr}")
        # fsync is of no use: nothing has to survive.
        settings = ["-c", "listen_addresses=", "-c", "fsync=off", "-c", f"unix_socket_directories={folder}"]
        with (folder / "log").open("w") as log:
            server = subprocess.Popen(
                [binaries / "postgres", "-D", data, *settings],
                user=user,
                cwd=folder,
                stdin=subprocess.DEVNULL,
                stdout=log,
                stderr=log,
                start_new_session=True,  # Ctrl-C must reach this process only, which then stops the server
                preexec_fn=_stop_with_parent if sys.platform == "linux" else None,
            )
        try:
            address = f"postgresql://postgres@/postgres?host={folder}"
            _await(server, address, folder / "log")
            yield address
        finally:
            _stop(server)


def _binaries() -> Path:
    """The folder of the programs ``initdb`` and ``postgres``, from the wheel of pgserver."""
    found = importlib.util.find_spec("pgserver")
    if found is None or found.origin is None:
        raise SystemExit(
            "the embedded server needs pgserver: pip install '.[gallery]', or use your own server by --dsn"
        )
    return Path(found.origin).parent / "pginstall" / "bin"


def _copied(binaries: Path, folder: Path) -> Path:
    """A copy of the programs and their libraries, as they may be where only root can read them."""
    package = binaries.parents[1]
    libraries = package.with_name("pgserver.libs")
    if libraries.exists():
        shutil.copytree(libraries, folder / libraries.name)
    return (
        Path(shutil.copytree(binaries.parent, folder / package.name / binaries.parent.name)) / binaries.name
    )


def _stop_with_parent() -> None:
    """Runs in the server's process before it becomes PostgreSQL."""
    ctypes.CDLL(None).prctl(_PR_SET_PDEATHSIG, signal.SIGQUIT)


def _await(server: "subprocess.Popen[bytes]", address: str, log: Path) -> None:
    """Wait until the server accepts connections."""
    until = time.monotonic() + _START
    while True:
        try:
            psycopg.connect(address).close()
            return
        except psycopg.OperationalError as error:
            if server.poll() is not None or time.monotonic() > until:
                raise RuntimeError(f"the embedded PostgreSQL did not start:\n{log.read_text()}") from error
        time.sleep(0.05)


def _stop(server: "subprocess.Popen[bytes]") -> None:
    """Stop the server at once; a second Ctrl-C does not prevent it."""
    while server.poll() is None:
        try:
            server.send_signal(signal.SIGQUIT)  # PostgreSQL's immediate shutdown
            server.wait(timeout=10.0)
        except KeyboardInterrupt:
            continue
        except subprocess.TimeoutExpired:
            server.kill()


@contextmanager
def _terminated_as_exit() -> Iterator[None]:
    """``SIGTERM`` ends the program by ``SystemExit``, so that what is running is stopped first."""
    if threading.current_thread() is not threading.main_thread():
        yield  # only the main thread may handle signals
        return

    def leave(_number: int, _frame: FrameType | None) -> None:
        raise SystemExit(143)

    before = signal.signal(signal.SIGTERM, leave)
    try:
        yield
    finally:
        signal.signal(signal.SIGTERM, before)
