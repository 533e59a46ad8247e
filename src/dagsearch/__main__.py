"""``python -m dagsearch``."""

import sys

from dagsearch.cli import main

sys.exit(main())
