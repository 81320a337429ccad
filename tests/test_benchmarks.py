"""The benchmark harness: verdicts, wrong results, contenders that fail; and the command that starts the scripts."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from termgraph import bench_cli, cli

FOLDER = Path(__file__).resolve().parent.parent / "benchmarks"
SCRIPTS = bench_cli.scripts(FOLDER)  # which reads them all

SUITE = """
\"\"\"A benchmark of the harness itself.\"\"\"
import os
from harness import Case, Statement, Suite, Target

suite = Suite("fake", lambda quick: [Case("sum", {"n": 2000}, targets=[Target(1.0)])], doc=__doc__)

@suite.side("numpy")
def numpy_side(who, n):
    return Statement("sum(v)", v=list(range(n)))

@suite.side("python")
def python_side(who, n):
    return Statement("sum(v) + 1000000", v=range(n))

@suite.side("handc")
def handc_side(who, n):
    os._exit(3)

@suite.side("termgraph")
def termgraph_side(who, n):
    if os.environ.get("FAKE_MISSING"):
        raise AttributeError("no such thing")
    return Statement("total", total=sum(range(n)))

if __name__ == "__main__":
    raise SystemExit(suite.main())
"""


@pytest.fixture
def fake(tmp_path, monkeypatch):
    """Runs the suite above; its exit code and JSON document."""
    monkeypatch.setenv("TERMGRAPH_BENCH_HOME", str(tmp_path / "home"))
    monkeypatch.setenv("PYTHONPATH", str(FOLDER))
    script = tmp_path / "fake.py"
    script.write_text(SUITE)

    def run(*options):
        command = [sys.executable, str(script), "--quick", "--json", "-", *options]
        done = subprocess.run(command, capture_output=True, text=True, timeout=60)
        return done.returncode, json.loads(done.stdout), done.stderr

    return run


def test_verdict_wrong_result_and_dead_worker(fake):
    code, document, notes = fake()
    row = document["rows"][0]
    assert row["best_peer"] == "numpy" and row["reached"] and row["ratio"] < 1
    assert row["cells"]["python"]["wrong"] and "python: WRONG RESULT, not that of numpy" in notes
    assert "code 3" in row["cells"]["handc"]["error"]
    assert code == 1, "a wrong result is a failure"


def test_what_termgraph_cannot_do_yet_is_said_and_the_peers_are_timed(fake, monkeypatch):
    monkeypatch.setenv("FAKE_MISSING", "1")
    code, document, notes = fake("--only", "numpy,termgraph")
    assert code == 0
    assert "termgraph: not available yet: AttributeError: no such thing" in notes
    assert document["rows"][0]["values"]["numpy"] > 0 and "ratio" not in document["rows"][0]


def test_the_command_lists_and_runs_the_scripts(capsys):
    assert cli.main(["bench", "--json"]) == 0
    names = [entry["name"] for entry in json.loads(capsys.readouterr().out)]
    assert {"build", "calls", "elementwise", "peers", "scan"} <= set(names) and "worker" not in names
    assert cli.main(["bench", "elementwise", "--help"]) == 0
    assert cli.main(["bench", "nonsense"]) == cli.MISUSED


def test_the_command_says_that_a_wheel_has_no_benchmarks(tmp_path, monkeypatch, capsys):
    monkeypatch.setattr(bench_cli, "FOLDER", tmp_path)
    assert cli.main(["bench", "calls"]) == cli.MISUSED
    assert "not of an installed package" in capsys.readouterr().err


@pytest.mark.parametrize("script", sorted(SCRIPTS))
def test_every_script_says_what_it_does(script):
    assert SCRIPTS[script].strip().endswith((".", ":")), f"{script}.py needs a first line of docstring"


@pytest.mark.parametrize("words", [["dist.py", "exchange"], ["dist.py", "start"], ["dist_sim.py"]], ids=" ".join)
def test_the_benchmarks_of_many_workers_run(words):
    command = [sys.executable, str(FOLDER / words[0]), *words[1:], "--quick"]
    done = subprocess.run(command, capture_output=True, text=True, timeout=120)
    assert done.returncode == 0, done.stderr
    assert re.search(r"ms|ready after|useful work", done.stdout)


def test_simulated_workers_are_those_of_the_paper(monkeypatch):
    """With a lock held for a fifth of a batch: 1.65 and 3.2 together after each batch, 2 and 4 after a hundred."""
    monkeypatch.syspath_prepend(str(FOLDER))
    import dist_sim

    for workers, tau, expected in [(2, 1, 1.65), (4, 1, 3.2), (2, 100, 2.0), (4, 100, 3.95)]:
        found = dist_sim.asynchronous(workers, tau, dist_sim.World(hold=0.2))
        assert abs(found / expected - 1) < 0.05, (workers, tau, found)
    alone = dist_sim.synchronous(1, dist_sim.World(spread=0.0))
    assert alone == pytest.approx(1) and dist_sim.synchronous(8, dist_sim.World(spread=0.0)) == pytest.approx(8)
    broken = dist_sim.World(failures=0.01, detect=1, restart=5)
    assert dist_sim.synchronous(8, broken, 500) < dist_sim.synchronous(8, dist_sim.World(), 500) < 8
