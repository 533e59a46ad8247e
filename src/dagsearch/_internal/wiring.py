"""Functions that a search and its result offer but do not import: running, recording and reporting.

``dagsearch.__init__``, which knows all rooms, sets these functions when the package is imported, so that the
centre imports nothing that is built around it.
"""

from types import SimpleNamespace

wiring = SimpleNamespace()
