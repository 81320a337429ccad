"""Compiling under bad conditions: killed in the midst, many processes on a cold cache, many programs in one process.

    python scripts/stress.py kills 1000     python scripts/stress.py cold 50     python scripts/stress.py compiles 1000

Each prints one line of figures and ends with 1 if a value was wrong or a file of the cache could not be used.
"""

import argparse
import os
import random
import signal
import sys
import tempfile
import time
import warnings

import numpy as np

import termgraph as tg
import termgraph.tensor as T

GIVEN = np.linspace(0.5, 2.0, 7)


def program(number: int, linker: str = "auto") -> bool:
    """Compile a function that no other number has, and see whether its value is right."""
    x = T.dvector("x")
    f = tg.function([x], T.exp(x * (1 + number / 1000)) + number, mode=tg.Mode(linker=linker))
    return bool(np.allclose(f(GIVEN), np.exp(GIVEN * (1 + number / 1000)) + number, rtol=1e-12))


def child(numbers: list[int]) -> int:
    """A process that compiles; its group can be killed with the compiler it runs."""
    pid = os.fork()
    if pid:
        return pid
    os.setsid()
    code = 2
    try:
        with warnings.catch_warnings():
            warnings.simplefilter("error")  # a file of the cache that cannot be used is told by a warning
            code = sum(not program(n) for n in numbers) > 0
    except BaseException as error:
        print(f"{type(error).__name__}: {error}", file=sys.stderr)
    os._exit(code)


def kills(count: int) -> int:
    """Processes killed at any moment of a compile; then all programs again, from what they left in the cache."""
    chance, killed, several = random.Random(1), 0, max(4, count // 20)
    program(0)
    begin = time.monotonic()
    program(several + 1)
    took = time.monotonic() - begin
    for k in range(count):
        pid = child([k % several + 1])
        time.sleep(chance.uniform(0, 1.2 * took))
        try:
            os.killpg(pid, signal.SIGKILL)
        except ProcessLookupError:
            os.kill(pid, signal.SIGKILL)  # it has no group of its own yet
        killed += os.WIFSIGNALED(os.waitpid(pid, 0)[1])
    _, status = os.waitpid(child(list(range(several + 2))), 0)
    left = sum(len(files) for _, _, files in os.walk(tg.config.cache.dir))
    print(f"kills: {killed} of {count} processes killed; afterwards {'all values right' if not status else 'WRONG'}; "
          f"{left} files in the cache")  # fmt: skip
    return int(status != 0)


def cold(count: int) -> int:
    """Processes that find an empty cache at the same time and compile the same programs."""
    begin = time.monotonic()
    pids = [child([1, 2, 3]) for _ in range(count)]
    wrong = sum(os.waitpid(pid, 0)[1] != 0 for pid in pids)
    print(f"cold: {count} processes, {wrong} wrong, {time.monotonic() - begin:.1f} s")
    return int(wrong > 0)


def compiles(count: int) -> int:
    """Distinct programs in one process: what memory each leaves behind."""
    wrong = 0
    for linker in ("py", "auto"):
        for n in range(count // 10):
            wrong += not program(100_000 + n, linker)
        before = resident()
        for n in range(count):
            wrong += not program(n, linker)
        print(
            f"compiles: {count} programs, {linker}: {(resident() - before) / count / 1000:.1f} kB each, {wrong} wrong"
        )
    return int(wrong > 0)


def resident() -> int:
    with open("/proc/self/statm") as file:
        return int(file.read().split()[1]) * os.sysconf("SC_PAGE_SIZE")


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("what", choices=["kills", "cold", "compiles"])
    parser.add_argument("count", type=int)
    arguments = parser.parse_args()
    with tempfile.TemporaryDirectory() as folder, tg.config.change_flags({"cache.dir": folder}):
        return {"kills": kills, "cold": cold, "compiles": compiles}[arguments.what](arguments.count)


if __name__ == "__main__":
    sys.exit(main())
