"""``python -m hardscape``: the command line."""

import sys

from hardscape.cli import main

sys.exit(main())
