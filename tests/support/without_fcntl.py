"""A pytest plugin, ``-p support.without_fcntl``: locks are those of Windows, without ``fcntl``.

``msvcrt.locking`` is imitated: it locks for an open file, and fails at once if another one has the lock.
"""

import errno
import fcntl
import importlib.util
import os
import struct
import sys
import types
from pathlib import Path
from unittest import mock


def _locking(descriptor, mode, length):
    assert (mode, length) == (_MSVCRT.LK_NBLCK, 1)
    # As the other processes of a test lock, at the same place.
    place = os.lseek(descriptor, 0, os.SEEK_CUR)
    only_read = fcntl.fcntl(descriptor, fcntl.F_GETFL) & os.O_ACCMODE == os.O_RDONLY
    kind = fcntl.F_RDLCK if only_read else fcntl.F_WRLCK  # a file that is open for reading has no other lock
    wanted = struct.pack("hhqqi4x", kind, os.SEEK_SET, place, length, 0)
    try:
        fcntl.fcntl(descriptor, fcntl.F_OFD_SETLK, wanted)
    except BlockingIOError:
        raise PermissionError(errno.EACCES, "Permission denied") from None


_MSVCRT = types.SimpleNamespace(LK_NBLCK=2, locking=_locking)


# Now, because pytest imports plugins first, before anything imports the library.
assert "dagsearch" not in sys.modules
modules = mock.patch.dict(sys.modules, {"msvcrt": _MSVCRT, "fcntl": None})
with modules, mock.patch.object(sys, "platform", "win32"):
    (package,) = importlib.util.find_spec("dagsearch").submodule_search_locations
    file = Path(package, "journal", "lock.py")
    spec = importlib.util.spec_from_file_location("dagsearch.journal.lock", file)
    lock = importlib.util.module_from_spec(spec)
    spec.loader.exec_module(lock)
assert not hasattr(lock, "fcntl")
sys.modules["dagsearch.journal.lock"] = lock
