"""Kernels under the sanitizers of gcc, and whether planted bugs are found."""

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


def run(case, mode, bug="none"):
    """(exit status, all output) of a case in a process with a sanitizer."""
    environment = {**os.environ, "TG_EMU_MODE": mode, **preload(mode), "PYTHONPATH": str(ROOT)}
    environment["TERMGRAPH_FLAGS"] = f"cache.dir={config.cache.dir}"
    command = [sys.executable, str(SCRIPT), case, bug]
    done = subprocess.run(command, env=environment, capture_output=True, text=True, timeout=240)
    return done.returncode, done.stdout + done.stderr


@pytest.mark.parametrize("mode", ["address", "undefined", "thread"])
def test_nothing_is_found_in_generated_kernels(mode):
    status, output = run("rows for a block, products, pooling of no rows", mode)
    assert status == 0, output[-3000:]


@pytest.mark.slow
@pytest.mark.parametrize("mode", ["address", "undefined", "thread"])
def test_nothing_is_found_in_more_of_them(mode):
    status, output = run(
        "elementwise, sums, wide rows, columns in parts, turned, indexing, running sums, "
        "running sums over many blocks, sorting by digits, shapes, half",
        mode,
    )
    assert status == 0, output[-3000:]
    status, output = run("convolutions, pooling, batch norm", mode)
    assert status == 0, output[-3000:]


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


SLOW = (  # a process of its own each
    "no barrier before the room is used again",
    "no barrier before a tile is loaded",
    "no barrier before totals are read",
    "no barrier between the steps of a sorting network",
    "a run that ends one element late",
)


@pytest.mark.parametrize(
    "case, bug, mode, message",
    [pytest.param(*row, id=row[1], marks=[pytest.mark.slow] if row[1] in SLOW else []) for row in PLANTED],
)
def test_planted_bugs_are_found(case, bug, mode, message):
    status, output = run(case, mode, bug)
    assert status != 0 and any(m in output for m in message.split("|")), output[-3000:]
