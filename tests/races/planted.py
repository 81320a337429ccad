"""Jobs and programs of which it is known what runs at once: for a process of its own, since programs are cut otherwise.

Prints as JSON what is found of each.
"""

import ctypes
import json
import sys
from pathlib import Path

sys.path.insert(0, str(Path(__file__).parents[1]))

import numpy as np

import termgraph as tg
import termgraph.tensor as T
from emucuda.build import NoEmulation
from emucuda.driver import emulation
from races import mode
from termgraph.backends.c.build.library import build_plain
from termgraph.lower.lengths import meeting

# Bodies of `for (i = begin; i < end; i++)`, with 64 whole numbers `t` that all parts share.
JOBS = {
    "elements of their own": "t[i] += 1;",
    "two parts write": "t[i / 2] = 1;",
    "two parts add": "t[i / 2] += 1;",
    "what another writes is read": "t[i] = t[i + 1];",
    "bytes of one number": "((char *)t)[i] = 1;",
    "the same is read": "t[i] = t[60];",
    "vectors that overlap": "*(four *)(t + 2 * i) = (four){1, 2, 3, 4};",
    "vectors beside each other": "*(four *)(t + 4 * i) = (four){1, 2, 3, 4};",
    "copies that overlap": "__builtin_memcpy(t + i, t + 40, 4 + t[63]);",
    "copies beside each other": "__builtin_memcpy(t + i, t + 40, t[63]);",
    "rooms of their own": "int *room = malloc(64); room[3] = i; t[i] = room[3]; free(room);",
    "stacks of their own": "int room[9]; for (int k = 0; k < 9; k++) (&room[0])[k + none] = i; t[i] = room[4 + none];",
    "atomic additions": "__atomic_fetch_add(t, 1, __ATOMIC_RELAXED);",
    "atomic additions to what is read": "__atomic_fetch_add(t, 1, __ATOMIC_RELAXED); t[8 + i] = t[0];",
    "published": """
        if (i == 7) t[20] = 5, __atomic_store_n(t + 21, 1, __ATOMIC_RELEASE);
        else if (__atomic_load_n(t + 21, __ATOMIC_ACQUIRE)) t[i] = t[20];""",
    "written after it was published": """
        if (i == 7) __atomic_store_n(t + 21, 1, __ATOMIC_RELEASE), t[20] = 5;
        else if (__atomic_load_n(t + 21, __ATOMIC_ACQUIRE)) t[i] = t[20];""",
}
HEAD = "typedef int four __attribute__((vector_size(16), aligned(4), may_alias));\nvoid free(void *);\nint none;\n"
BODY = "void job%d(int *t, long begin, long end) { for (long i = begin; i < end; i++) { %s } }\n"


def jobs():
    text = HEAD + "".join(BODY % (k, body) for k, body in enumerate(JOBS.values()))
    library = build_plain([text], "jobs", header="", libraries=())
    handle = ctypes.CDLL(library.path)
    for k, name in enumerate(JOBS):
        t = np.zeros(64, np.int32)
        t[63] = 4
        body = ctypes.cast(getattr(handle, f"job{k}"), ctypes.c_void_p)
        mode.library().races_clear()
        mode.library().races_parallel_for(body, ctypes.c_void_p(t.ctypes.data), ctypes.c_int64(8), ctypes.c_int64(1))
        yield name, mode.told()


def additions(linker):
    """Additions at sums of counts, of n + n - 1 places each many times."""
    c, r, w = T.vector("c"), T.vector("r"), T.matrix("w")
    f = tg.function([c, r, w], tg.grad((w * T.linalg.toeplitz(c, r)).sum(), [c, r]), mode=tg.Mode(linker=linker))
    mode.library().races_clear()
    f(np.ones(5), np.ones(4), np.arange(20.0).reshape(5, 4))
    return mode.told()


def programs(linker, never_meet=meeting.never_meet):
    """They are as they should be, and taken for independent."""
    with tg.config.change_flags(**{"cache.programs": False}):
        yield f"additions, {linker}", additions(linker)
        meeting.never_meet = lambda *asked: True
        yield f"additions at once, {linker}", additions(linker)
        meeting.never_meet = never_meet


if __name__ == "__main__":
    mode.watch_c()
    mode.watch_cuda()
    found = dict([*jobs(), *programs("c")])
    try:
        with emulation():
            found |= programs("cuda")
    except NoEmulation:
        pass
    print(json.dumps(found))
