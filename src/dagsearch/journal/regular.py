"""Opens files that other processes may replace: whatever is there instead of a file, opening never waits."""

import os
import stat
from os import PathLike


def open_regular(path: str | PathLike[str], flags: int = os.O_RDONLY) -> int:
    """Descriptor of a regular file.

    A named pipe, a device, a socket or a folder raises ``OSError`` at once; a plain ``open`` might wait
    forever for the other end of a pipe.

    Parameters
    ----------
    path : path
        The file.
    flags : int
        How to open it, as for ``os.open``. A new file can be read and written by its owner alone.
    """
    flags |= getattr(os, "O_NONBLOCK", 0) | getattr(os, "O_NOCTTY", 0) | getattr(os, "O_BINARY", 0)
    descriptor = os.open(path, flags, 0o600)
    try:
        if not stat.S_ISREG(os.fstat(descriptor).st_mode):
            raise OSError("it is not a regular file")
    except BaseException:
        os.close(descriptor)
        raise
    return descriptor
