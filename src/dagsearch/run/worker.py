"""What a worker process does: it evaluates the leaves that its parent sends, until the parent is gone.

A message to the worker is one of the kinds :data:`PROBLEM` and :data:`LEAF` with the pickled object; to the
parent it is one of the kinds :data:`BEGUN`, :data:`ENDED` and :data:`UNUSABLE` with its content.
"""

import os
import pickle
import signal
from multiprocessing.connection import Connection
from queue import SimpleQueue
from threading import Thread
from typing import Any

from dagsearch.run.outcomes import Outcome, described, evaluate

PROBLEM, LEAF = b"P", b"L"
BEGUN, ENDED, UNUSABLE = "begun", "ended", "unusable"

# Seconds between two looks at whether the parent still exists, in case its end of the pipe does not tell.
_LOOK = 5.0


def serve(connection: Connection, parent: int) -> None:
    """Evaluate what comes through a connection; ``parent`` is the process at its other end."""
    # Ctrl-C in a terminal reaches the workers, too. The parent decides what it means. SIG_IGN would be passed
    # on to programs that an evaluation starts.
    signal.signal(signal.SIGINT, lambda *_: None)
    messages: SimpleQueue[bytes] = SimpleQueue()
    Thread(target=_receive, args=(connection, parent, messages), daemon=True).start()
    problem: Any = None
    while True:
        message = messages.get()
        kind, content = message[:1], message[1:]
        if kind == PROBLEM:
            try:
                problem = pickle.loads(content)
            except BaseException as error:
                connection.send((UNUSABLE, described(error)))
        else:
            connection.send((ENDED, _evaluated(connection, problem, content)))


def _evaluated(connection: Connection, problem: Any, content: bytes) -> Outcome:
    try:
        leaf = pickle.loads(content)
    except Exception as error:
        return Outcome.of(error)
    connection.send((BEGUN, None))
    return evaluate(problem, leaf)


def _receive(connection: Connection, parent: int, messages: "SimpleQueue[bytes]") -> None:
    """Queue messages; end the process once nobody is left who could send one, even during an evaluation."""
    try:
        while True:
            if connection.poll(_LOOK):
                messages.put(connection.recv_bytes())
            elif os.getppid() != parent:
                break
    except (EOFError, OSError):
        pass
    os._exit(1)
