"""Functions that a search and its result offer but do not import: running, recording and reporting.

``dagsearch.__init__``, which knows all rooms, sets these functions at import, so that the core imports
nothing built around it.
"""

from types import SimpleNamespace

wiring = SimpleNamespace()
