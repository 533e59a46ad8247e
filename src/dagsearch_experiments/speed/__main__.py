"""Puts tables into a page: ``python -m dagsearch_experiments.speed results/speed docs/speed.md``."""

import sys
from pathlib import Path

from dagsearch_experiments.speed import MEASUREMENTS, page

results, target = map(Path, sys.argv[1:])
target.write_text(page.filled(target.read_text(), page.read(results, list(MEASUREMENTS))))
