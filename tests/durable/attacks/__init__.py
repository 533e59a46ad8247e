"""``python -m tests.durable.attacks``: any operation in any order on searches whose disk fails at any write.

- :mod:`disk`: fails at an operation chosen before.
- :mod:`kinds`: the kinds of search that are attacked.
- :mod:`pair`: a search on such a disk, beside a model that never crashes.
- :mod:`world`: what is done to both.
- :mod:`selectors`: the same for a feature selector.
- :mod:`workers`: worker processes whose evaluations fork and die.
- :mod:`machine`: the rules by which Hypothesis chooses operations.
- :mod:`campaign`: many sequences of operations in several processes.
- :mod:`report`: the figures, added to those of earlier runs.

``reported.json`` holds the sequences that were reported once; they are tried again by a test.
"""

from tests.durable.attacks.report import OPERATIONS, QUICK, run, summary

__all__ = ["OPERATIONS", "QUICK", "run", "summary"]
