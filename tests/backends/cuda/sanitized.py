"""Run with a sanitizer loaded: python sanitized.py JOBS. Computes cases, with bugs planted into their kernels.

JOBS are pairs of a case and a bug; each has a process of its own, which is forked when all is imported. Printed are
their statuses and outputs, all in JSON.
"""

import json
import os
import sys
import tempfile
import traceback
from pathlib import Path

import numpy as np

sys.path.insert(0, str(Path(__file__).parents[2]))

from backends.cuda.cudacases import cases, program

import termgraph as tg
from emucuda.driver import emulation
from termgraph.backends.cuda.run.device_array import DeviceArray
from termgraph.backends.cuda.run.executor import Executable

# name -> (text, its replacement)
BUGS = {
    "none": ("", ""),
    "no barrier before the room is used again": ("    __syncthreads(); /* the room may still be read */\n", ""),
    "no barrier after partial results": ("= v;\n    __syncthreads();\n", "= v;\n"),
    "no barrier after a tile is loaded": ("        __syncthreads();\n#pragma unroll", "#pragma unroll"),
    "no barrier before a tile is loaded": ("        __syncthreads();\n    }\n#pragma unroll", "    }\n#pragma unroll"),
    "no barrier between the steps of a sorting network": (
        "            __syncthreads();\n            for (int e",
        "            for (int e",
    ),
    "no barrier before totals are read": ("part[warp] = v;\n    __syncthreads();\n", "part[warp] = v;\n"),
    "a run that ends one element late": ("start + width < n ? start + width : n", "start + width"),
    "no barrier before digits are counted": (
        "    }\n    __syncthreads();\n#pragma unroll\n    for (int k = 0; k < 16; k++) { /*",
        "    }\n#pragma unroll\n    for (int k = 0; k < 16; k++) { /*",
    ),
    "digits of a whole tile": ("if (first + k * 256 < n) atomicAdd", "atomicAdd"),
    "no barrier before a square is read": (
        "            }\n        }\n        __syncthreads();\n",
        "            }\n        }\n",
    ),
    "a square without its edge": (
        "if (i0 < n0_1 && i1 < n0_0) {\n                square0",
        "{\n                square0",
    ),
    "one element too many": ("i1 < n0_1; i1 += team", "i1 <= n0_1; i1 += team"),
    "one row too many": ("t < n0_0; t +=", "t <= n0_0; t +="),
    "a tile without its edge": ("row0 + i < m && k0 + q < k ?", "k0 + q < k ?"),
    "always sixteen bytes": ("whole = vector ?", "whole = 1 ?"),
    "a barrier for some threads": ("a0 = tg_fold(a0,", "if (lane & 1) a0 = tg_fold(a0,"),
    "room for half of the results": ("char tg_room[512]", "char tg_room[16]"),
}


def compute(case, bug):
    inputs, outputs, values = CASES[case]
    want = tg.function(inputs, outputs, mode=tg.Mode(linker="py"))(*values)
    code = program(inputs, outputs)
    old, new = BUGS[bug]
    assert old in code.source, f"{bug!r} cannot be planted: its text has changed"
    code.source = code.source.replace(old, new)
    with emulation() as device:
        if bug == "always sixteen bytes":  # an array that begins 4 bytes further on
            room = DeviceArray.of(np.concatenate([[0], values[0].ravel()]).astype("float32"))
            values = [DeviceArray(device, room.address + 4, values[0].shape, "float32", keeps=room), *values[1:]]
        got = [np.asarray(a) for a in Executable(code, device)(*values)]
    good = all(np.allclose(a, b, rtol=1e-4, atol=1e-5, equal_nan=True) for a, b in zip(got, want))
    assert good, f"{case}: wrong values"


def apart(case, bug):
    """(exit status, all output) of a case in a process that is forked from this one: a sanitizer ends it."""
    with tempfile.TemporaryFile() as shown:
        child = os.fork()
        if child == 0:
            os.dup2(shown.fileno(), 1)
            os.dup2(shown.fileno(), 2)
            status = 0
            try:
                compute(case, bug)
            except BaseException:
                traceback.print_exc()
                status = 1
            finally:
                sys.stderr.flush()
                os._exit(status)
        status = os.waitstatus_to_exitcode(os.waitpid(child, 0)[1])
        shown.seek(0)
        return status, shown.read().decode(errors="replace")


if __name__ == "__main__":
    CASES = cases()
    print(json.dumps([apart(case, bug) for case, bug in json.loads(sys.argv[1])]))
