"""The `termgraph` command: finding subcommands, exit codes, JSON, and the doctor."""

import argparse
import json
import os
import re
import subprocess
import sys
from pathlib import Path

import pytest

import termgraph
from termgraph import cli, doctor

ROOT = Path(__file__).resolve().parent.parent


def test_help_lists_what_exists_and_imports_none_of_it(capsys, monkeypatch):
    extra = (cli.Subcommand("ghost", "termgraph.attic.ghost_cli", "not built yet"),)
    monkeypatch.setattr(cli, "SUBCOMMANDS", cli.SUBCOMMANDS + extra)
    monkeypatch.setattr(cli, "import_module", lambda module: pytest.fail(f"imported {module}"))
    with pytest.raises(SystemExit) as stop:
        cli.main(["--help"])
    assert stop.value.code == 0
    shown = capsys.readouterr().out
    assert "config" in shown and "doctor" in shown and "ghost" not in shown


@pytest.mark.parametrize("argv", [["--bogus"], ["ghost"], ["config", "--bogus"]])
def test_misuse_exits_with_2(argv, capsys):
    with pytest.raises(SystemExit) as stop:
        cli.main(argv)
    assert stop.value.code == 2 and "usage: termgraph" in capsys.readouterr().err


def test_without_words_it_shows_its_help(capsys):
    assert cli.main([]) == 0
    assert "usage: termgraph" in (shown := capsys.readouterr().out) and "doctor" in shown


def test_version(capsys):
    with pytest.raises(SystemExit) as stop:
        cli.main(["--version"])
    assert stop.value.code == 0 and capsys.readouterr().out == f"termgraph {termgraph.__version__}\n"


@pytest.mark.parametrize("command", [command for command in cli.SUBCOMMANDS if cli.exists(command.module)])
def test_every_subcommand_has_help(command, capsys):
    with pytest.raises(SystemExit) as stop:
        cli.main([command.name, "--help"])
    assert stop.value.code == 0 and f"usage: termgraph {command.name}" in capsys.readouterr().out


def test_the_page_of_the_command_has_every_subcommand():
    page = (ROOT / "docs" / "command.md").read_text(encoding="utf-8").partition("\n## ")[0]
    assert set(re.findall(r"^\| `termgraph (\w+)`", page, re.M)) == {command.name for command in cli.SUBCOMMANDS}


def test_a_picture_of_an_unknown_kind_is_a_mistake(tmp_path, capsys):
    assert cli.main(["viz", "log(x)", str(tmp_path / "a.xyz")]) == 2
    assert capsys.readouterr().err.startswith("termgraph viz: cannot write ")


def test_dist_run_asks_for_what_it_needs(capsys):
    with pytest.raises(SystemExit):
        cli.main(["dist", "run"])
    assert capsys.readouterr().err.endswith("the following arguments are required: script\n")


def test_config(capsys):
    with termgraph.config.change_flags(floatX="float32"):
        assert cli.main(["config", "--changed"]) == 0
    assert capsys.readouterr().out.startswith("floatX = float32   [change_flags]\n")
    assert cli.main(["config", "--json", "scan", "lib.cnmem"]) == 0
    rows = json.loads(capsys.readouterr().out)
    assert [row["name"] for row in rows] == ["scan.allow_gc", "gpu.pool_reserve"]


def test_a_mistake_is_one_line_and_2(capsys, monkeypatch):
    assert cli.main(["config", "flaotX"]) == 2
    assert capsys.readouterr().err == "termgraph config: there is no flag 'flaotX'; did you mean 'floatX'?\n"
    monkeypatch.setenv("TERMGRAPH_DEBUG", "1")
    with pytest.raises(ValueError, match="flaotX"):
        cli.main(["config", "flaotX"])


def test_a_reader_that_stops_early():
    program = f"{sys.executable} -m termgraph config --json | head -n 1; echo ${{PIPESTATUS[0]}}"
    run = subprocess.run(["bash", "-c", program], cwd=ROOT, capture_output=True, text=True, check=True)
    assert run.stdout.startswith("[\n") and run.stdout.endswith(("\n0\n", "\n1\n")) and not run.stderr


def test_doctor(capsys):
    assert cli.main(["doctor"]) == 0
    shown = capsys.readouterr().out
    assert "numpy" in shown and "Python" in shown and shown.endswith("No problem found.\n")
    assert cli.main(["doctor", "--json"]) == 0
    sections = json.loads(capsys.readouterr().out)
    assert {finding["status"] for findings in sections.values() for finding in findings} <= {"ok", "note", "problem"}


def test_doctor_finds_missing_and_old_packages(monkeypatch, capsys):
    monkeypatch.setattr(doctor, "requirements", lambda: ["numpy>=99", "no-such-package>=1", "scipy"])
    assert cli.main(["doctor"]) == 1
    shown = capsys.readouterr().out
    assert "does not satisfy >=99; run: pip install 'numpy>=99'" in shown
    assert "not installed; run: pip install 'no-such-package>=1'" in shown
    assert shown.endswith("2 problems found, marked with '!'.\n")


def test_doctor_goes_on_after_a_section_that_fails(monkeypatch, capsys):
    def broken():
        yield "first", "ok", "fine"
        raise RuntimeError("the probe fell over")

    monkeypatch.setattr(doctor, "broken", broken, raising=False)
    sections = (("Broken", "termgraph.doctor:broken"), ("Ghost", "termgraph.attic:ghost"), *doctor.SECTIONS)
    monkeypatch.setattr(doctor, "SECTIONS", sections)
    assert doctor.run(argparse.Namespace(json=False)) == 1
    shown = capsys.readouterr().out
    assert "RuntimeError: the probe fell over" in shown and "first" in shown and "Ghost" not in shown
    assert "Packages" in shown and "1 problem found" in shown


def test_doctor_reports_bad_flags():
    program = [sys.executable, "-m", "termgraph", "doctor"]
    environ = {"PYTHONPATH": os.pathsep.join(path for path in sys.path if path), "TERMGRAPH_FLAGS": "flaotX=1"}
    run = subprocess.run(program, cwd=ROOT, env=environ, capture_output=True, text=True)
    assert run.returncode == 1 and not run.stderr
    assert "! configuration  TERMGRAPH_FLAGS: there is no flag 'flaotX'; did you mean 'floatX'?" in run.stdout


def test_requirements_are_those_of_the_project():
    assert any(text.startswith("packaging") for text in doctor.requirements())
    assert {"numpy>=2.0", "miniKanren>=1.0.3"} <= set(doctor.requirements())


def test_exit_code_reaches_the_shell():
    run = subprocess.run([sys.executable, "-m", "termgraph", "config", "x"], cwd=ROOT, capture_output=True, text=True)
    assert run.returncode == 2 and not run.stdout


def test_the_doctor_lists_what_stays_on_the_cpu_only_where_a_gpu_is_wanted(monkeypatch):
    from termgraph.backends.cuda import doctor as gpu

    monkeypatch.setattr(gpu.device, "why_not", lambda: "no device")
    assert [what for what, _, _ in gpu.gpu()] == ["packages", "CUDA compiler", "device"]
    with termgraph.config.change_flags(device="cuda"):
        assert "stays on the CPU" in [what for what, _, _ in gpu.gpu()]
