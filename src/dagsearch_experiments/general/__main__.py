"""Puts tables into a page: ``python -m dagsearch_experiments.general results/general docs/general.md``."""

import sys
from pathlib import Path

from dagsearch_experiments.general import page
from dagsearch_experiments.general.measures import Measures
from dagsearch_experiments.runner import read_rows

results, target = map(Path, sys.argv[1:])
target.write_text(page.filled(target.read_text(), Measures(read_rows(results / "general.csv.gz"))))
