"""Puts tables into a page: ``python -m experiments.general results/general docs/general.md``."""

import sys
from pathlib import Path

from experiments.general import page
from experiments.general.measures import Measures
from experiments.harness.runner import read_rows

results, target = map(Path, sys.argv[1:])
target.write_text(page.filled(target.read_text(), Measures(read_rows(results / "general.csv.gz"))))
