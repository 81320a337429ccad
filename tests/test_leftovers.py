"""A test run that is killed leaves nothing computing."""

import os
import signal
import subprocess
import sys
import time
from pathlib import Path

import leftovers
import pytest

pytestmark = pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="the mark is read from /proc")

RUN = f"""
import subprocess, sys, time
sys.path.insert(0, {str(Path(leftovers.__file__).parent)!r})
import leftovers
leftovers.watch()
child = subprocess.Popen([sys.executable, "-c", "while True: pass"], start_new_session=True)
print(child.pid, flush=True)
time.sleep(600)
"""


def lives(pid):
    try:
        return Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()[0] != "Z"
    except OSError:
        return False


@pytest.mark.parametrize("how", [signal.SIGKILL, signal.SIGTERM])
def test_children_of_a_killed_run_end(how):
    environment = {name: value for name, value in os.environ.items() if name != leftovers.NAME}
    run = subprocess.Popen([sys.executable, "-c", RUN], stdout=subprocess.PIPE, text=True, env=environment)
    child = int(run.stdout.readline())
    assert lives(child)
    run.send_signal(how)
    run.wait()
    run.stdout.close()
    end = time.monotonic() + 30
    while lives(child) and time.monotonic() < end:
        time.sleep(0.1)
    assert not lives(child)


def test_processes_of_other_runs_are_left_alone():
    environment = {**os.environ, leftovers.NAME: "another"}
    with subprocess.Popen([sys.executable, "-c", "input()"], stdin=subprocess.PIPE, env=environment) as other:
        assert other.pid not in leftovers.marked("mine") and other.pid in leftovers.marked("another")
        other.stdin.write(b"\n")
        other.stdin.close()
