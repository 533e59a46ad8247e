"""The lock by which one search at a time writes to a journal.

The lock is on the journal file itself, so that another name of the same file does not get around it. It
belongs to the open file, not to the process: POSIX locks end as soon as the process closes *any* descriptor
of the file, for example after it has copied the file. Every lock ends with the process, even if it is killed.
"""

import errno
import os
import struct
import sys
import time

# A byte far behind the content; where locks are mandatory (Windows), readers must not meet it.
_BYTE = 1 << 40

if sys.platform == "linux":
    import fcntl

    # struct flock: type, whence, start, length, process.
    _LAYOUT = "hhqqi4x"

    def lock(descriptor: int) -> bool:
        """Lock an open file; returns whether nobody else has locked it."""
        request = struct.pack(_LAYOUT, fcntl.F_WRLCK, os.SEEK_SET, _BYTE, 1, 0)
        try:
            fcntl.fcntl(descriptor, fcntl.F_OFD_SETLK, request)
        except OSError as error:
            if error.errno in (errno.EACCES, errno.EAGAIN):
                return False
            raise
        return True

    def is_locked(descriptor: int) -> bool:
        """Whether somebody else has locked the file. Asking takes no lock, so it disturbs nobody."""
        request = struct.pack(_LAYOUT, fcntl.F_WRLCK, os.SEEK_SET, _BYTE, 1, 0)
        answer = fcntl.fcntl(descriptor, fcntl.F_OFD_GETLK, request)
        return bool(struct.unpack(_LAYOUT, answer)[0] != fcntl.F_UNLCK)

else:
    # Seconds for which another process may hold the lock only to see whether it is free.
    _GLANCE = 1.0

    def _try(descriptor: int) -> bool:
        try:
            if sys.platform == "win32":
                import msvcrt

                os.lseek(descriptor, _BYTE, os.SEEK_SET)
                msvcrt.locking(descriptor, msvcrt.LK_NBLCK, 1)
            else:
                import fcntl

                fcntl.flock(descriptor, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError as error:
            if error.errno in (errno.EACCES, errno.EAGAIN, errno.EWOULDBLOCK):
                return False
            raise
        return True

    def lock(descriptor: int) -> bool:
        """Lock an open file; returns whether nobody else has locked it."""
        end = time.monotonic() + _GLANCE
        while not _try(descriptor):
            if time.monotonic() > end:
                return False
            time.sleep(0.01)
        return True

    def is_locked(descriptor: int) -> bool:
        """Whether somebody else has locked the file. The lock is held until the descriptor is closed."""
        return not _try(descriptor)
