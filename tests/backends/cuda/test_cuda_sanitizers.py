"""Kernels under the sanitizers of gcc, and whether planted bugs are found."""

import json
import os
import subprocess
import sys
from pathlib import Path

import pytest
from backends.cuda.cudacases import inside, no_emulation

from emucuda.build import preload
from termgraph.config import config

pytestmark = [inside, pytest.mark.skipif(bool(no_emulation), reason=no_emulation or "g++")]
SCRIPT = Path(__file__).with_name("sanitized.py")
ROOT = SCRIPT.parents[3]


def run(mode, jobs):
    """(exit status, all output) of each pair of a case and a bug: a process with a sanitizer forks one for each."""
    environment = {**os.environ, "TG_EMU_MODE": mode, **preload(mode), "PYTHONPATH": str(ROOT)}
    environment["OPENBLAS_NUM_THREADS"] = "1"  # ThreadSanitizer wants processes that fork to have one thread
    environment["TERMGRAPH_FLAGS"] = f"cache.dir={config.cache.dir}"
    command = [sys.executable, str(SCRIPT), json.dumps(jobs)]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=240)
    assert done.returncode == 0, done.stdout + done.stderr
    return json.loads(done.stdout)


CASES = ("rows for a block", "products", "pooling of no rows")
MORE = (
    *("elementwise", "sums", "wide rows", "columns in parts", "turned", "indexing", "running sums"),
    *("running sums over many blocks", "sorting by digits", "shapes", "half"),
    *("convolutions", "pooling", "batch norm"),
)


PLANTED = [
    ("rows for a block", "no barrier before the room is used again", "thread", "data race"),
    ("rows for a block", "no barrier after partial results", "thread", "data race"),
    ("products", "no barrier after a tile is loaded", "thread", "data race"),
    ("convolutions", "no barrier after a tile is loaded", "thread", "data race"),
    ("products", "no barrier before a tile is loaded", "thread", "data race"),
    ("running products", "no barrier before totals are read", "thread", "data race"),
    ("sorting", "no barrier between the steps of a sorting network", "thread", "data race"),
    ("sorting by tiles", "a run that ends one element late", "address", "AddressSanitizer"),
    ("sorting by digits", "no barrier before digits are counted", "thread", "data race"),
    ("sorting by digits", "digits of a whole tile", "address", "AddressSanitizer"),
    ("turned", "no barrier before a square is read", "plain", "wrong values"),
    ("turned", "a square without its edge", "address", "AddressSanitizer"),
    ("rows", "one row too many", "address", "AddressSanitizer"),
    ("products", "a tile without its edge", "address", "AddressSanitizer"),
    ("rows for a block", "room for half of the results", "address", "AddressSanitizer"),
    ("elementwise", "always sixteen bytes", "undefined", "misaligned address"),
    ("rows for a block", "a barrier for some threads", "plain", "deadlock|the mask names|wait at different barriers"),
]


SLOW = (  # others of their kind are found in every run
    "no barrier before the room is used again",
    "no barrier before a tile is loaded",
    "no barrier before totals are read",
    "no barrier between the steps of a sorting network",
    "a run that ends one element late",
)


def check(mode, cases, bugs):
    """Nothing is found in cases as they are, and the bugs are: all in one process, as starting one takes longest."""
    planted = [(case, bug, message) for case, bug, known, message in PLANTED if known == mode and bug in bugs]
    seen = run(mode, [*((case, "none") for case in cases), *(row[:2] for row in planted)])
    assert len(seen) == len(cases) + len(planted)
    for case, (status, output) in zip(cases, seen):
        assert status == 0, f"{case}: {output[-3000:]}"
    for (case, bug, message), (status, output) in zip(planted, seen[len(cases) :], strict=True):
        assert status != 0 and any(m in output for m in message.split("|")), f"{case}, {bug}: {output[-3000:]}"


@pytest.mark.parametrize("mode", ["plain", "address", "undefined", "thread"])
def test_planted_bugs_are_found_and_nothing_else(mode):
    check(mode, CASES, {row[1] for row in PLANTED} - set(SLOW))


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["address", "undefined", "thread"])
def test_more_of_both(mode):
    check(mode, MORE, SLOW)
