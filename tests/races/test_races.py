"""What runs at once and touches the same bytes is found, and nothing else."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest

from emucuda.build import find_compiler
from races import mode
from termgraph.config import config

ROOT = Path(__file__).parents[2]
pytestmark = [
    pytest.mark.skipif(bool(mode.missing()), reason=mode.missing() or "gcc"),
    pytest.mark.skipif("TERMGRAPH_TEST_GPU" in os.environ, reason="kernels run on a GPU"),
]
FAULTS = {
    "two parts write": "writes",
    "two parts add": "writes",
    "what another writes is read": "reads",
    "vectors that overlap": "writes",
    "copies that overlap": "writes",
    "atomic additions to what is read": "reads",
    "written after it was published": "reads",
    "additions at once, c": "i1 + n0_0 - i0 - 1] += ",
    "additions at once, cuda": "i1 + n0_0 - i0 - 1] += ",
}


def run(*command):
    environment = {**os.environ, "TERMGRAPH_FLAGS": f"cache.dir={config.cache.dir}", "PYTHONPATH": str(ROOT)}
    done = subprocess.run(
        [sys.executable, *command], env=environment, cwd=ROOT, capture_output=True, text=True, timeout=240
    )
    assert done.returncode == 0, done.stdout[-6000:] + done.stderr[-3000:]
    return done.stdout


def test_planted_races_are_found_and_nothing_else():
    found = json.loads(run(str(Path(__file__).with_name("planted.py"))))
    assert len(found) == 20 or find_compiler() is None
    for name, told in found.items():
        assert bool(told) == (name in FAULTS), (name, told)
        assert not told or any(FAULTS[name] in line for line in told), (name, told)
