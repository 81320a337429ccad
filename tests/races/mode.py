"""Compiled C whose parallel kernels are cut into as many parts as can be, and watched: see races.c.

For a process of its own, before anything is compiled: what programs are made for is another length of work, so nothing
may come from the usual cache.
"""

from __future__ import annotations

import ctypes
import functools
import os
import re
import shutil
import subprocess
import sys
from pathlib import Path

HERE = Path(__file__).parent
LIBRARY = "libraces.so"
# Vector instructions with masks are calls that gcc does not look into.
WATCHED = "-g1 -fsanitize=thread -mno-avx512f"

MARK = re.compile(r'#line (\d+) "')


class Race(AssertionError):
    """Parts of a job that could run at once touch the same bytes."""


def missing() -> str:
    """Why nothing can be watched here, or an empty text."""
    return "" if shutil.which("gcc") else "gcc watches what parts of a job touch, and gcc was not found"


@functools.cache
def library() -> ctypes.CDLL:
    """What is told of each access, by all that is compiled after this."""
    return ctypes.CDLL(path(), mode=ctypes.RTLD_GLOBAL)


@functools.cache
def path() -> str:
    """Where that lies; from the cache if it was built before."""
    from termgraph.backends.c import run
    from termgraph.backends.c.build.cache import default_cache
    from termgraph.backends.c.build.cache_files import digest

    source, abi = HERE / "races.c", Path(run.__file__).parent / "abi.h"
    command = ["gcc", "-O2", "-shared", "-fPIC", "-w", f"-Wl,-soname,{LIBRARY}", f"-I{abi.parent}", str(source)]

    def make(directory: str) -> None:
        own = {name: value for name, value in os.environ.items() if name != "LD_PRELOAD"}
        subprocess.run([*command, "-o", os.path.join(directory, LIBRARY), "-lpthread", "-ldl"], check=True, env=own)

    parts = {"races": digest(source.read_text() + abi.read_text()), "command": " ".join(command)}
    entry, _ = default_cache().get_or_make(parts, make, name="races", kind="races")
    return entry.file(LIBRARY)


def watch_c() -> None:
    """From here on programs in C run in as many parts as can be, one after the other, and each access is looked at."""
    assert "termgraph.backends.c.text.kernels" not in sys.modules, "texts of services are already in use"
    from termgraph.backends.c.build.program_library import _Runtime
    from termgraph.backends.c.run import glue
    from termgraph.backends.c.text import ranges
    from termgraph.config import config

    known = f"GRAIN = {ranges.GRAIN} ", f"n / ({ranges.GRAIN} / "
    assert known[0] in ranges.SERVICES and known[1] in ranges.PARTS_TEXT
    ranges.SERVICES = ranges.SERVICES.replace(known[0], "GRAIN = 0 ")
    ranges.PARTS_TEXT = ranges.PARTS_TEXT.replace(known[1], "n / (0 / ")
    ranges.GRAIN = 0

    class Runtime(_Runtime):
        _fields_ = [("each_past", ctypes.c_void_p), ("cached", ctypes.c_int64), ("idle", ctypes.c_void_p)]

    glue.use_threads()
    runtime = Runtime.from_address(glue.provider().runtime())
    for name in ("parallel_for", "parts", "each_past", "idle"):
        setattr(runtime, name, ctypes.cast(getattr(library(), f"races_{name}"), ctypes.c_void_p).value)
    config.cflags = flags()


def flags() -> str:
    """What programs in C are compiled with."""
    return " ".join([WATCHED, "-include", str(HERE / "races.h"), *linked()])


def linked() -> list[str]:
    """What watched code is linked with in the place of what gcc would: that watches threads as they come."""
    library()  # found by its name when that code is loaded
    return ["-nodefaultlibs", path(), "-lm", "-lc", "-lgcc_s", "-lgcc"]


def watch_cuda() -> None:
    """From here on the emulation watches blocks, and threads that do not wait for each other."""
    os.environ["TG_EMU_MODE"] = "races"


def check() -> None:
    """Raise what was found since the last time."""
    found = told()
    library().races_clear()
    if found:
        raise Race("\n".join(found))


def told() -> list[str]:
    """What was found, a line each."""
    line = ctypes.create_string_buffer(2048)
    out = []
    for k in range(library().races_count()):
        library().races_told(k, line, ctypes.c_size_t(len(line)))
        what, now, part, before_what, before, other = line.value.decode().split("\t")
        out.append(f"part {part} {what} what part {other} {before_what}: {_where(now)} | {_where(before)}")
    return out


@functools.lru_cache(maxsize=512)
def _where(place: str) -> str:
    """The line of generated text behind an offset of a library."""
    library, _, offset = place.rpartition(" ")
    command = ["addr2line", "-f", "-e", library, offset]
    done = subprocess.run(command, capture_output=True, text=True)
    function, _, at = done.stdout.strip().rpartition("\n")
    file, _, line = at.partition(" ")[0].rpartition(":")
    return f"{os.path.basename(file)}:{line} in {function}: {_text(library, os.path.basename(file), line)} ({library})"


def _text(library: str, file: str, wanted: str) -> str:
    """The line itself, of a source beside the library."""
    found = ""
    for source in (Path(library).with_name(name) for name in (file, "kernels.cpp")):
        number = 0
        for text in source.read_text().splitlines() if source.exists() else ():
            number += 1
            if mark := MARK.match(text):
                number = int(mark[1]) - 1
            elif str(number) == wanted:
                found = text.strip()
    return found
