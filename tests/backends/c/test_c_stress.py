"""`scripts/stress.py` in small: kills during compiles, many processes on a cold cache, memory of a compile."""

import re
import subprocess
import sys
from pathlib import Path

import pytest

from termgraph.backends.c.build.compilers import find_compiler

SCRIPT = Path(__file__).parents[3] / "scripts" / "stress.py"
SAYS = {
    "kills": (12, r"kills: \d+ of 12 processes killed; afterwards all values right; \d+ files in the cache\n"),
    "cold": (6, r"cold: 6 processes, 0 wrong, [\d.]+ s\n"),
    "compiles": (20, r"(compiles: 20 programs, (py|auto): -?[\d.]+ kB each, 0 wrong\n){2}"),
}


@pytest.mark.slow
@pytest.mark.skipif(find_compiler() is None or sys.platform != "linux", reason="needs a C compiler and /proc")
@pytest.mark.parametrize("what", SAYS)
def test_compiling_under_bad_conditions(what):
    count, says = SAYS[what]
    done = subprocess.run([sys.executable, str(SCRIPT), what, str(count)], capture_output=True, text=True, timeout=300)
    assert done.returncode == 0 and re.fullmatch(says, done.stdout), done.stdout + done.stderr
