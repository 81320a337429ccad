"""Random programs of the whole language, a few by seed; the judge and the shrinking tried on a planted mistake."""

import subprocess
import sys

import numpy as np
import pytest

from fuzz import runner
from fuzz.judge import MODES, Allowed, run, verdict
from fuzz.language import STATEMENTS
from fuzz.programs import Program, grow
from fuzz.runner import fuzz, grown
from fuzz.shrink import shrunk

VM = tuple(m for m in MODES if m.endswith("VM"))
C = tuple(m for m in MODES if m.endswith(", C"))
CUDA = ("FAST_RUN, CUDA",)


@pytest.mark.parametrize("modes, programs", [(VM, 24), (C, 8), (CUDA, 3)], ids=["VM", "C", "CUDA"])
def test_random_programs(modes, programs):
    report = fuzz(3600, 1, modes, limit=programs)
    assert sum(report.judged.values()) > programs * len(modes) // 2 and not report.failures, str(report)


def test_random_programs_of_special_values():
    report = fuzz(3600, 1, ("STRICT, VM",), limit=24, special=True)
    assert sum(report.judged.values()) > 12 and not report.failures, str(report)


@pytest.mark.slow
def test_many_random_programs(request):
    report = fuzz(120, request.config.getoption("--seed") or 2)
    assert not report.failures, str(report)


def test_every_statement_is_written_by_some_program():
    """A statement that no program can have is no test of anything."""
    text = " ".join(v.text or "" for seed in range(40) for v in grow(seed, 12).variables)
    for word in ("scan", "ifelse", "einsum", "RandomStream", "S.", "grad(", "conv2d", "set_subtensor", "sort(", "cast(",
                 "linalg", "switch", "bfloat16", "softmax", "fft"):  # fmt: skip
        assert word in text, word
    assert len(set(STATEMENTS)) > 25


def test_programs_have_memory_and_given_values():
    programs = [grown(seed) for seed in range(60)]
    assert sum(bool(p.updates) for p in programs) > 10 < sum(bool(p.given) for p in programs)
    p = next(p for p in programs if p.updates and p.given)
    text = p.source(("'FAST_COMPILE'", "'STRICT'"))
    assert "updates=[" in text and "givens={" in text and ".get_value()" in text
    exec(text, {"print": lambda *values: None})
    assert run(p, "STRICT, VM") is None


def test_a_wrong_update_is_seen():
    seen = 0
    for p in map(grown, range(60)):
        late = [u for u in p.updates.values() if u not in p.outputs]
        allowed = Allowed(p)
        if late and allowed.judges(VM[0]) and allowed.values[late[0]].dtype.name in ("float64", "float32"):
            results = [np.asarray(allowed.values[name]) for name in p.results]
            assert verdict(p, allowed, results, VM[0]) is None
            at = p.results.index(late[0])
            results[at] = results[at] + results[at].dtype.type(1 + np.abs(results[at]).max())
            seen += late[0] in (verdict(p, allowed, results, VM[0]) or "")
    assert seen >= 2


def test_a_program_is_the_same_for_a_seed_and_runs_as_it_is_printed(tmp_path):
    assert grown(5).source() == grown(5).source()
    file = tmp_path / "program.py"
    file.write_text(
        grown(5).source(("'FAST_COMPILE'",)).replace("for mode in ('FAST_COMPILE')", "for mode in ['FAST_COMPILE']")
    )
    done = subprocess.run([sys.executable, str(file)], capture_output=True, text=True)
    assert done.returncode == 0 and "array" in done.stdout, done.stderr


def _with_tanh():
    return next(
        p for p in (grow(seed, 9) for seed in range(500)) if any(v.text and "tanh" in v.text for v in p.variables[6:])
    )


def test_shrinking_keeps_what_fails_and_little_else():
    program = _with_tanh()
    has_tanh = lambda p: any("tanh(" in (v.text or "") for v in p.variables)  # noqa: E731
    program.outputs = [v.name for v in program.variables if v.text]
    small = shrunk(program, has_tanh, tries=400)
    assert has_tanh(small) and sum(v.text is not None for v in small.variables) <= 2
    assert isinstance(small, Program) and len(small.outputs) == 1


def test_a_wrong_number_is_seen(monkeypatch):
    """One that is off by a thousandth, in the midst of others."""

    def off(programs, mode, right=runner.together):
        return [
            [np.asarray(r * (1 + 1e-3)).astype(r.dtype) if r.dtype.kind == "f" else r for r in rs]
            for rs in right(programs, mode)
        ]

    programs = [(s, grown(s), Allowed(grown(s))) for s in range(24)]
    monkeypatch.setattr(runner, "together", off)
    monkeypatch.setattr(runner, "run", lambda program, mode: "wrong")
    monkeypatch.setattr(runner, "shrunk", lambda program, fails: program)
    report = runner.Report(0)
    runner.try_all(programs, VM[0], report)
    floats = [
        s
        for s, p, a in programs
        if any(v.kind == "f" and v.dtype == "float64" and np.any(v.value) for v in p.variables if v.name in p.outputs)
    ]
    assert len(report.failures) >= len(floats) // 2 > 3
