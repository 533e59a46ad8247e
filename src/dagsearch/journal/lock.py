"""The lock by which one search at a time writes to a journal.

The lock is on the journal file itself, so that another name of the same file does not get around it. It
belongs to the open file, not to the process: POSIX locks end as soon as the process closes *any* descriptor
of the file, for example after it has copied the file. Every lock ends with the process, even if it is killed.

On Linux this is an open file description lock, which can be queried without taking it. Elsewhere a
reader takes the lock for a moment to see whether it is free, and a search that begins waits for readers.
"""

import errno
import os
import struct
import sys
import time

# A byte far behind the content; where locks are mandatory (Windows), readers must not meet it.
_BYTE = 1 << 40
# Seconds for which a reader may hold the lock.
_GLANCE = 1.0
_BUSY = (errno.EACCES, errno.EAGAIN)


def lock(descriptor: int) -> bool:
    """Lock an open file; returns whether nobody else has locked it."""
    if (answer := _lock_range(descriptor)) is not None:
        return answer
    end = time.monotonic() + _GLANCE
    while not (locked := _lock_whole(descriptor)) and time.monotonic() < end:
        time.sleep(0.01)
    return locked


def is_locked(descriptor: int) -> bool:
    """Whether somebody else has locked the file; close the descriptor soon, as it may hold the lock now."""
    if (answer := _is_range_locked(descriptor)) is not None:
        return answer
    return not _lock_whole(descriptor)


if sys.platform == "win32":
    import msvcrt

    def _lock_whole(descriptor: int) -> bool:
        os.lseek(descriptor, _BYTE, os.SEEK_SET)
        try:
            msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
        except OSError as error:
            if error.errno in _BUSY:
                return False
            raise
        return True

else:
    import fcntl

    def _lock_whole(descriptor: int) -> bool:
        try:
            fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in _BUSY:
                return False
            raise
        return True


if sys.platform == "linux":
    # struct flock: type, whence, start, length, process.
    _LAYOUT = "hhqqi4x"
    _REQUEST = struct.pack(_LAYOUT, fcntl.F_WRLCK, os.SEEK_SET, _BYTE, 1, 0)

    def _lock_range(descriptor: int) -> bool | None:
        """Whether a range could be locked; ``None`` if the system has no such locks."""
        try:
            fcntl.fcntl(descriptor, fcntl.F_OFD_SETLK, _REQUEST)
        except OSError as error:
            if error.errno == errno.EINVAL:
                return None
            if error.errno in _BUSY:
                return False
            raise
        return True

    def _is_range_locked(descriptor: int) -> bool | None:
        """Whether somebody else has locked the range; ``None`` if the system has no such locks."""
        try:
            answer = fcntl.fcntl(descriptor, fcntl.F_OFD_GETLK, _REQUEST)
        except OSError as error:
            if error.errno == errno.EINVAL:
                return None
            raise
        return bool(struct.unpack(_LAYOUT, answer)[0] != fcntl.F_UNLCK)

else:

    def _lock_range(descriptor: int) -> bool | None:
        return None

    def _is_range_locked(descriptor: int) -> bool | None:
        return None
