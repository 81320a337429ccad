"""`python -m termgraph` is the `termgraph` command."""

import sys

from termgraph.cli import main

sys.exit(main())
