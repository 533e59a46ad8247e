"""Puts tables into a page: ``python -m experiments.speed results/speed docs/speed.md``."""

import sys
from pathlib import Path

from experiments.speed import MEASUREMENTS, page

results, target = map(Path, sys.argv[1:])
target.write_text(page.filled(target.read_text(), page.read(results, list(MEASUREMENTS))))
