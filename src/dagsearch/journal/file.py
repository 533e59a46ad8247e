"""A file that one process at a time writes to, in a way that survives the end of the process or machine."""

import os
import stat
import weakref
from contextlib import suppress
from pathlib import Path

from dagsearch.errors import JournalError
from dagsearch.journal.lock import is_locked, lock
from dagsearch.journal.regular import open_regular

# Only the content and the length must be on the disk; the time of the last change may be lost.
_sync = getattr(os, "fdatasync", os.fsync)


class LockedFile:
    """A file that is open and locked for writing.

    Parameters
    ----------
    path : Path
        The file.
    flags : int
        ``os.O_CREAT`` to make the file if it does not exist, with ``os.O_EXCL`` only if it does not exist.
    mode : int, optional
        Permissions of a file that is made; by default those that the system gives to new files.

    Raises
    ------
    JournalError
        If another search has locked it, or if it cannot be opened or locked.
    """

    def __init__(self, path: Path, flags: int = 0, mode: int | None = None) -> None:
        self.path = path
        try:
            self._descriptor = _opened(path, flags, 0o666 if mode is None else mode & 0o600)
        except FileExistsError as error:
            raise JournalError(f"{path} exists already: choose another file name") from error
        except OSError as error:
            raise JournalError(
                f"cannot open {path} for writing ({error}): make the file and its folder writable, or choose "
                "another file name"
            ) from error
        self._close = weakref.finalize(self, os.close, self._descriptor)
        if mode is not None and hasattr(os, "fchmod"):  # exactly, whatever the umask
            with suppress(OSError):  # a file system without permissions
                os.fchmod(self._descriptor, mode)
        self.size = os.fstat(self._descriptor).st_size
        _OPEN.add(self)

    def append(self, data: bytes, wait: bool = True) -> None:
        """Write at the end, and ``wait`` until all is on the disk. If this fails, nothing is appended."""
        self.check_unchanged()
        before = self.size
        try:
            self.write(before, data)
            if wait:
                self.sync()
        except BaseException:
            with suppress(OSError):
                self.truncate(before)
            raise

    def check_unchanged(self) -> None:
        """Raise ``OSError`` if another program has deleted the file or changed its length."""
        if not self._close.alive:
            raise OSError("the file is closed in this process")
        found = os.fstat(self._descriptor)
        if found.st_nlink == 0:
            raise OSError("the file was deleted or replaced by another program")
        if found.st_size != self.size:
            raise OSError("the file was changed by another program")

    def write(self, position: int, data: bytes) -> None:
        """Write at a position. Only :meth:`sync` makes sure that it is on the disk."""
        os.lseek(self._descriptor, position, os.SEEK_SET)
        written = 0
        while written < len(data):
            written += os.write(self._descriptor, data[written:])
        self.size = max(self.size, position + len(data))

    def read(self, position: int, length: int) -> bytes:
        """Up to ``length`` bytes at a position."""
        os.lseek(self._descriptor, position, os.SEEK_SET)
        return os.read(self._descriptor, length)

    def truncate(self, size: int) -> None:
        """Remove what follows the first ``size`` bytes."""
        os.ftruncate(self._descriptor, size)
        self.size = size

    def sync(self) -> None:
        """Wait until all that was written is on the disk."""
        _sync(self._descriptor)

    def is_open_at(self, descriptor: int) -> bool:
        """Whether this is the file of a descriptor, and not closed."""
        return self._close.alive and os.path.samestat(os.fstat(self._descriptor), os.fstat(descriptor))

    def close(self) -> None:
        """Release the file."""
        self._close()


_OPEN: "weakref.WeakSet[LockedFile]" = weakref.WeakSet()


def _close_in_child() -> None:
    """A forked process would hold the lock, and might outlive this one."""
    for file in list(_OPEN):
        file.close()


if hasattr(os, "register_at_fork"):
    os.register_at_fork(after_in_child=_close_in_child)


def _opened(path: Path, flags: int, mode: int) -> int:
    """Descriptor of a file that is open for reading and writing, and locked."""
    while True:
        descriptor = os.open(path, os.O_RDWR | flags | getattr(os, "O_BINARY", 0), mode)
        try:
            if not stat.S_ISREG(os.fstat(descriptor).st_mode):
                raise OSError("it is not a regular file")
            if not lock(descriptor):
                here = any(file.is_open_at(descriptor) for file in list(_OPEN))
                who = (
                    " of this process: close() that search"
                    if here
                    else ", in another process: end that process"
                )
                raise JournalError(
                    f"{path} is in use by another search{who} first. 'dagsearch show' can read the journal "
                    "meanwhile"
                )
            if _is_at(path, descriptor):
                return descriptor
        except BaseException:
            os.close(descriptor)
            raise
        os.close(descriptor)  # another file has got the name since


def _is_at(path: Path, descriptor: int) -> bool:
    try:
        return os.path.samestat(os.stat(path), os.fstat(descriptor))
    except FileNotFoundError:
        return False


def is_in_use(path: Path) -> bool:
    """Whether a process has the file open for writing; neither that process nor the file is disturbed."""
    try:
        with open(open_regular(path), "rb") as file:
            return is_locked(file.fileno())
    except OSError:
        return False


def sync_folder(path: Path) -> None:
    """Wait until the name of a new file is on the disk, too, where the system can."""
    with suppress(OSError):
        folder = os.open(path.parent, os.O_RDONLY)
        try:
            os.fsync(folder)
        finally:
            os.close(folder)
