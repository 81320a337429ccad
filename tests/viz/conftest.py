"""Tests of pages find the browser's helper beside them."""

import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parent))
