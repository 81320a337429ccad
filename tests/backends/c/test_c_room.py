"""Room that routines ask malloc for in each call stays with the process: it is not fetched anew for the next one."""

import platform
import subprocess
import sys

import pytest

from termgraph.backends.c.build.compilers import find_compiler

# Four blocks at a time, of which glibc gives the end of the heap back whenever they are free, if nobody tells it more.
PROGRAM = """
import ctypes, resource
from termgraph.backends.c.run import glue
glue.provider()
library, size = ctypes.CDLL(None), 600_000
library.malloc.restype = ctypes.c_void_p
library.malloc.argtypes, library.free.argtypes = [ctypes.c_size_t], [ctypes.c_void_p]

def used():
    blocks = [library.malloc(size) for _ in range(4)]
    for block in blocks:
        ctypes.memset(block, 1, size)
    for block in blocks:
        library.free(block)

for _ in range(5):
    used()
before = resource.getrusage(resource.RUSAGE_SELF).ru_minflt
for _ in range(20):
    used()
print((resource.getrusage(resource.RUSAGE_SELF).ru_minflt - before) / 20)
"""


@pytest.mark.skipif(find_compiler() is None or platform.libc_ver()[0] != "glibc", reason="no C compiler, or no glibc")
def test_what_is_freed_is_there_for_the_next_call():
    done = subprocess.run([sys.executable, "-c", PROGRAM], check=True, capture_output=True, text=True)
    assert float(done.stdout) < 20  # fresh pages; 150 of each block that was given back
