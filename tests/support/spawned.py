"""A pytest plugin, ``-p support.spawned``: processes are started by ``spawn``, as on macOS and Windows."""

import multiprocessing

multiprocessing.set_start_method("spawn", force=True)
