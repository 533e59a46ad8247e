"""Problems whose rewards other processes can compute: they must be in a module that those can import."""

import os
import random
import signal
import subprocess
import time
import uuid
from collections import Counter
from pathlib import Path

import dagsearch as ds

N, K = 16, 4


def value(chosen):
    return float(sum(chosen)) + 0.1 * len({i // 4 for i in chosen})


def name_of(leaf):
    """A leaf in the name of a file."""
    return "-".join(map(str, sorted(leaf)))


class Sum(ds.problems.Subsets):
    """4 of 16 numbers, the larger the better.

    Parameters
    ----------
    jitter : float
        Evaluations take up to this number of seconds, each another one: they end in another order.
    """

    def __init__(self, jitter=0.0):
        super().__init__(N, K, reward=value)
        self.jitter = jitter

    def reward(self, leaf):
        time.sleep(self.jitter * (hash(tuple(sorted(leaf))) % 7) / 7)
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


class Gated(Sum):
    """Evaluations say that they have begun; with 3 they never end, others end once the gate is open."""

    def __init__(self, folder):
        super().__init__()
        self.folder = Path(folder)
        self.gate = self.folder / "gate"

    def reward(self, leaf):
        kind = "hanging" if 3 in leaf else "begun"
        (self.folder / f"{kind}.{name_of(leaf)}.{uuid.uuid4()}").touch()
        while 3 in leaf or not self.gate.exists():
            time.sleep(0.01)
        return value(leaf)

    def open(self):
        self.gate.touch()

    def begun(self):
        """Evaluations that have begun so far, in any process."""
        return set(self.folder.glob("begun.*"))

    def hanging(self):
        """Those that do not end."""
        return set(self.folder.glob("hanging.*"))


class GatedAndPoisoned(Gated):
    """Leaves with 15 kill their process once they have begun."""

    def reward(self, leaf):
        if 15 in leaf:
            (self.folder / f"begun.{name_of(leaf)}.{uuid.uuid4()}").touch()
            os.kill(os.getpid(), signal.SIGKILL)
        return super().reward(leaf)


class Dying(Sum):
    """Kills its process, the first time in each of some evaluations; counts them in a folder."""

    def __init__(self, folder, deaths=1):
        super().__init__()
        self.folder, self.deaths = str(folder), deaths

    def reward(self, leaf):
        folder = Path(self.folder)
        (folder / f"{name_of(leaf)}.{uuid.uuid4()}").touch()
        for death in range(self.deaths):
            try:
                (folder / f"death{death}").touch(exist_ok=False)
            except FileExistsError:
                continue
            os.kill(os.getpid(), signal.SIGKILL)
        return value(leaf)


class Poisoned(Sum):
    """Leaves with 15 kill their process; counts the evaluations that have begun, in a folder."""

    def __init__(self, folder):
        super().__init__()
        self.folder = str(folder)

    def reward(self, leaf):
        (Path(self.folder) / f"{name_of(leaf)}.{uuid.uuid4()}").touch()
        if 15 in leaf:
            os.kill(os.getpid(), signal.SIGKILL)
        return value(leaf)

    def begun(self):
        """How often each leaf was begun."""
        return Counter(path.name.split(".")[0] for path in Path(self.folder).iterdir())


class SlowToLoad(Sum):
    """Takes until a file exists to load in another process, as problems that import much take long."""

    def __init__(self, gate):
        super().__init__()
        self.gate = Path(gate)

    def __setstate__(self, state):
        while not state["gate"].exists():
            time.sleep(0.01)
        self.__dict__.update(state)


class Loaded(Sum):
    """The reward is how often the problem was loaded in the process that computes it."""

    loads = 0

    def __setstate__(self, state):
        Loaded.loads += 1
        self.__dict__.update(state)

    def reward(self, leaf):
        return Loaded.loads + 1e-3 * value(leaf)


class Unloadable(Sum):
    """Cannot be loaded in another process."""

    def __setstate__(self, state):
        raise ImportError("no such module here")


class TwoArguments(Exception):
    """Can be pickled, but not unpickled."""

    def __init__(self, one, two):
        super().__init__(f"{one} and {two}")


class Raising(Sum):
    """Raises an exception that cannot come back from another process."""

    def reward(self, leaf):
        raise TwoArguments(1, 2)


class Yielding(Sum):
    """Its reward is a generator, because of a ``yield`` too many."""

    def reward(self, leaf):
        yield value(leaf)


class Sleeping(Sum):
    """Evaluations say in a folder which process computes them, and do not end."""

    def __init__(self, folder):
        super().__init__()
        self.folder = str(folder)

    def reward(self, leaf):
        (Path(self.folder) / str(os.getpid())).touch()
        time.sleep(3600.0)
        return value(leaf)


class Programs(Sum):
    """Evaluations start programs that do not end, say which in a folder, and wait.

    Parameters
    ----------
    folder : path
        Where a file of the process's number is made for each of them.
    how : str
        ``"child"``: it is a child of the process. ``"shell"``: it is started by a shell which has ended.
    dies : bool
        Whether the process that evaluates kills itself.
    """

    def __init__(self, folder, how, dies=False):
        super().__init__()
        self.folder, self.how, self.dies = str(folder), how, dies

    def reward(self, leaf):
        if self.how == "shell":
            os.system(f"sleep 3600 & touch {self.folder}/$!")
        else:
            program = subprocess.Popen(["sleep", "3600"])
            (Path(self.folder) / str(program.pid)).touch()
        if self.dies:
            os.kill(os.getpid(), signal.SIGKILL)
        time.sleep(3600.0)
        return value(leaf)

    def started(self):
        """The numbers of the programs."""
        return [int(path.name) for path in Path(self.folder).iterdir()]
