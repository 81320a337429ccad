"""The benchmark harness: verdicts, wrong results, contenders that fail; and the command that starts the scripts."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

from termgraph import bench_cli, cli

FOLDER = Path(__file__).resolve().parent.parent / "benchmarks"

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


@pytest.mark.parametrize("script", sorted(bench_cli.scripts(FOLDER)))
def test_every_script_says_what_it_does(script):
    assert bench_cli.scripts(FOLDER)[script].strip().endswith((".", ":")), (
        f"{script}.py needs a first line of docstring"
    )
