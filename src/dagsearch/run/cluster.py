"""What the executor of a Dask cluster needs beyond that of other executors."""

import pickle
import uuid
from contextlib import suppress
from typing import Any

import cloudpickle

from dagsearch.problem import Problem

# Seconds in which Dask's scheduler must answer.
_SCHEDULER_TIMEOUT = 30.0


class Cluster:
    """A Dask cluster.

    Parameters
    ----------
    executor : distributed.cfexecutor.ClientExecutor
        The executor of a client of the cluster.
    """

    def __init__(self, executor: Any) -> None:
        self._client = executor._client
        self._loaded: tuple[Problem | None, str] = None, ""

    def size(self) -> int:
        """Number of evaluations that the workers can run now. Raises ``OSError`` without a scheduler."""
        # A scheduler that has gone away would be waited for without end.
        threads = self._client.nthreads(callback_timeout=_SCHEDULER_TIMEOUT)
        return int(sum(threads.values()))

    def load(self, problem: Problem) -> None:
        """Let scheduler and workers, also those that join later, load the problem before an evaluation.

        The first time may take long, if modules are imported. It must not count as time of an evaluation.
        """
        if self._loaded[0] is problem:
            return
        self.close()
        from distributed import WorkerPlugin

        class Load(WorkerPlugin):
            def __init__(self, content: bytes) -> None:
                self._content = content

            def setup(self, worker: Any) -> None:
                with suppress(Exception):  # evaluations will say what is wrong
                    pickle.loads(self._content)

        name = f"dagsearch-{uuid.uuid4()}"
        self._client.register_plugin(Load(cloudpickle.dumps(problem)), name=name)
        self._loaded = problem, name
        if self.size() > 0:
            with suppress(Exception):
                self._client.submit(id, problem, pure=False).result()  # the scheduler loads it, too

    def close(self) -> None:
        """Forget the problem."""
        name, self._loaded = self._loaded[1], (None, "")
        if name and self._client.status == "running":  # otherwise the scheduler has gone away
            with suppress(Exception):
                forget = self._client._unregister_worker_plugin
                self._client.sync(forget, name, callback_timeout=_SCHEDULER_TIMEOUT)
