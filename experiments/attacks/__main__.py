"""Puts tables into a page: ``python -m experiments.attacks results/attacks docs/durability.md``."""

import sys
from pathlib import Path

from experiments.attacks import report

results, target = map(Path, sys.argv[1:])
target.write_text(report.filled(target.read_text(), results))
