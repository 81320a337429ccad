"""How trainings end that are not let finish: all processes gone, honest exit codes, and the next one goes on."""

import signal
import subprocess
import sys
from pathlib import Path

import pytest
from distmodels import below, examples, net, running, wait_for

from termgraph import dist
from termgraph.cli import main

TESTS = Path(__file__).parent.parent
SCRIPT = """
import sys
sys.path.insert(0, {tests!r})
from distmodels import Build, examples
from termgraph import dist

if __name__ == "__main__":
    data = dist.Arrays(*examples(), batch=10, epochs=4)
    build = Build("nothing", -1, pause=float(sys.argv[2]))
    dist.train(build, data, {workers} shards=3, seed=5, checkpoint=sys.argv[1], every=1, timeout=60)
"""


def data():
    return dist.Arrays(*examples(), batch=10, epochs=4)


def started(tmp_path, launcher, workers="workers=2,"):
    script, checkpoint = tmp_path / "script.py", tmp_path / "a.ckpt"
    script.write_text(SCRIPT.format(tests=str(TESTS), workers="" if launcher else workers))
    words = ["-m", "termgraph", "dist", "run", "--workers", "2", str(script)] if launcher else [str(script)]
    process = subprocess.Popen([sys.executable, *words, str(checkpoint), "0.1"], start_new_session=True)
    return process, checkpoint


@pytest.mark.parametrize(
    ("number", "launcher", "code"),
    [(signal.SIGINT, False, -2), (signal.SIGTERM, True, 143), (signal.SIGKILL, True, -9)],
)
def test_nothing_is_left_and_the_next_training_goes_on(number, launcher, code, tmp_path):
    process, checkpoint = started(tmp_path, launcher)
    try:
        assert wait_for(checkpoint.exists, 90)
        others = below(process.pid)
        assert len(others) >= 2 + launcher
        process.send_signal(number)
        assert wait_for(lambda: not any(map(running, [process.pid, *others])), 5), "processes are left after 5 s"
        assert process.wait() == code
    finally:
        process.kill()
        process.wait()
    resumed = dist.train(net, data(), shards=3, seed=5, checkpoint=checkpoint)
    whole = dist.train(net, data(), shards=3, seed=5)
    assert resumed.cost.tobytes() == whole.cost.tobytes() and resumed.steps == whole.steps
    assert all(resumed.params[k].tobytes() == whole.params[k].tobytes() for k in whole.params)


@pytest.mark.parametrize(
    ("text", "code"), [("raise SystemExit(7)", 7), ("1 / 0", 1), ("import os; os.kill(os.getpid(), 9)", 137), ("", 0)]
)
def test_the_exit_code_is_that_of_the_script(text, code, tmp_path, capfd):
    script = tmp_path / "skript ü.py"
    script.write_text(
        f"import os, sys\nassert os.environ['TERMGRAPH_DIST_WORKERS'] == '3' and sys.argv[1:] == ['-a']\n{text}"
    )
    assert main(["dist", "run", "--workers", "3", str(script), "--", "-a"]) == code
    assert ("ZeroDivisionError" in capfd.readouterr().err) == (code == 1)


def test_misuse_is_said(capsys):
    assert main(["dist", "run", "nowhere.py"]) == 2
    assert "there is no script nowhere.py" in capsys.readouterr().err
    assert main(["dist", "run", "nowhere.py", "--workers", "many"]) == 2
    assert "such as 2:8, got 'many'" in capsys.readouterr().err


def test_the_launcher_says_how_many_workers(monkeypatch):
    monkeypatch.setenv("TERMGRAPH_DIST_WORKERS", "1:2")
    result = dist.train(net, dist.Arrays(*examples(), batch=20), shards=2)
    assert sum(e.kind == "started" for e in result.events) == 2


def test_a_script_that_trains_when_imported_is_told_so(tmp_path):
    script = tmp_path / "script.py"
    text = SCRIPT.format(tests=str(TESTS), workers="workers=1,").replace('if __name__ == "__main__":', "if True:")
    script.write_text(text)
    found = subprocess.run(
        [sys.executable, str(script), str(tmp_path / "a"), "0"], capture_output=True, text=True, timeout=120
    )
    assert found.returncode == 1 and 'put that below `if __name__ == "__main__":`' in found.stderr
