"""Steering files that a search must not use, and requests that it must survive."""

import json
import os
import shutil
import socket
import stat
from collections.abc import Callable
from pathlib import Path
from typing import Any

from dagsearch.journal.requests import begun_at

NOBODY = 65534
"""Number of another account."""


def nested(depth: int) -> Any:
    """Lists in lists."""
    value: Any = 1
    for _ in range(depth):
        value = [value]
    return value


def line(journal: Path, action: Any, value: Any = None, name: str = "0123456789abcdef") -> bytes:
    """A request as anyone could write it: nothing is checked."""
    asked = {"request": name, "begun": begun_at(journal), "action": action, "value": value}
    return json.dumps(asked).encode() + b"\n"


def _fifo(path: Path, text: bytes) -> None:
    os.mkfifo(path, 0o600)


def _zero(path: Path, text: bytes) -> None:
    path.symlink_to("/dev/zero")


def _device(path: Path, text: bytes) -> None:
    os.mknod(path, 0o600 | stat.S_IFCHR, os.makedev(1, 5))  # /dev/zero itself


def _folder(path: Path, text: bytes) -> None:
    path.mkdir()


def _socket(path: Path, text: bytes) -> None:
    with socket.socket(socket.AF_UNIX) as made:
        here = os.getcwd()
        os.chdir(path.parent)  # a socket's path must be short
        try:
            made.bind(path.name)
        finally:
            os.chdir(here)


def own_file(path: Path, text: bytes) -> None:
    """A file as a run makes it."""
    path.touch(mode=0o600)
    path.write_bytes(text)


def _link(path: Path, text: bytes) -> None:
    other = path.with_name(f"{path.name}-other")
    other.unlink(missing_ok=True)
    own_file(other, text)
    path.symlink_to(other)


def _for_all(path: Path, text: bytes) -> None:
    own_file(path, text)
    path.chmod(0o666)


def _of_another(path: Path, text: bytes) -> None:
    own_file(path, text)
    os.chown(path, NOBODY, NOBODY)


FORGERIES: dict[str, Callable[[Path, bytes], None]] = {}
"""Makes, with the requests ``text`` where it can hold any, what must be neither read nor waited for."""
if os.name == "posix":
    FORGERIES |= {
        "pipe": _fifo,
        "link to zeros": _zero,
        "folder": _folder,
        "socket": _socket,
        "link": _link,
        "file for all": _for_all,
    }
    if os.geteuid() == 0:
        FORGERIES |= {"device": _device, "file of another account": _of_another}


def removed(path: Path) -> None:
    """Delete whatever is there."""
    if path.is_dir() and not path.is_symlink():
        shutil.rmtree(path)
    else:
        path.unlink(missing_ok=True)


BAD: dict[str, tuple[Any, Any]] = {
    "huge budget": ("budget", 2**1024),
    "budget of 4,000 digits": ("budget", 10**4000),
    "budget as text": ("budget", "text"),
    "budget of none": ("budget", None),
    "budget as a float": ("budget", 1e18),
    "huge reward": ("tell", {"leaf": [0, 1, 2], "reward": 10**300}),
    "infinite reward": ("tell", {"leaf": [0, 1, 2], "reward": 1e308 * 10}),
    "text as the value": ("tell", "text"),
    "deep leaf": ("propose", nested(900)),
    "large leaf": ("propose", [10**400]),
    "long leaf": ("propose", "x" * 500_000),
    "odd leaf": ("propose", {"set": [None, {}, "\ud800", "\u202e"]}),
    "odd leaf to forget": ("forget", {"tuple": 5}),
    "odd action": ({"a": 1}, None),
    "long action": ("x" * 100_000, None),
}
"""Requests, each an action and its value, that must be refused and change nothing else."""
