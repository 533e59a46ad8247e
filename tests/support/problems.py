"""Problems whose rewards other processes can compute: they must be in a module of their own."""

import os
import random
import signal
import time
from pathlib import Path

import dagsearch as ds

N, K = 16, 4


def value(chosen):
    return float(sum(chosen)) + 0.1 * len({i // 4 for i in chosen})


class Sum(ds.problems.Subsets):
    """Needs as long as it is told, for some leaves."""

    def __init__(self, seconds=0.0, jitter=0.0):
        super().__init__(N, K, reward=value)
        self.seconds, self.jitter = seconds, jitter

    def reward(self, leaf):
        time.sleep(self.seconds + self.jitter * (hash(tuple(sorted(leaf))) % 7) / 7)
        return value(leaf)


class Noisy(ds.problems.Subsets):
    """Earns something else every time."""

    def __init__(self):
        super().__init__(4, 2, reward=value)

    def reward(self, leaf):
        return value(leaf) + random.random()


class Failing(Sum):
    """Raises where 15 is chosen."""

    def reward(self, leaf):
        if 15 in leaf:
            raise RuntimeError("no fifteen")
        return value(leaf)


class Hanging(Sum):
    """Never ends where 3 is chosen."""

    def reward(self, leaf):
        if 3 in leaf:
            time.sleep(600)
        return super().reward(leaf)


class Dying(Sum):
    """Kills its process, the first time in each of some evaluations; counts them in a folder."""

    def __init__(self, folder, deaths=1):
        super().__init__()
        self.folder, self.deaths = str(folder), deaths

    def reward(self, leaf):
        folder = Path(self.folder)
        (folder / f"{'-'.join(map(str, sorted(leaf)))}.{os.getpid()}.{time.monotonic_ns()}").touch()
        for death in range(self.deaths):
            try:
                (folder / f"death{death}").touch(exist_ok=False)
            except FileExistsError:
                continue
            os.kill(os.getpid(), signal.SIGKILL)
        return value(leaf)
