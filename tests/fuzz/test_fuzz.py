"""Random programs of the whole language, a few by seed; the judge and the shrinking tried on a planted mistake."""

import subprocess
import sys

import numpy as np
import pytest

from fuzz import gradients, runner
from fuzz.gradients import fuzz_gradients
from fuzz.judge import MODES, Allowed, run, verdict
from fuzz.language import STATEMENTS
from fuzz.programs import Program, Variable, grow
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


def test_many_small_programs_in_one_function():
    report = fuzz(3600, 3, ("FAST_RUN, VM", "STRICT, VM"), limit=64, batch=64)
    assert sum(report.judged.values()) > 64 and not report.failures, str(report)


def test_gradients_of_random_programs():
    report = fuzz_gradients(3600, 1, limit=48)
    assert report.judged > 30 and report.zero < report.judged // 2 and not report.failures, str(report)


def test_a_wrong_gradient_is_seen_and_shrunk(monkeypatch):
    """Twice the gradient of every program that has a tanh."""

    def off(programs, mode, right=gradients.derivatives):
        bad = [any("T.tanh(" in (v.text or "") for v in p.variables) for p in programs]
        return [[2 * g if b else g for g in gs] for b, gs in zip(bad, right(programs, mode))]

    monkeypatch.setattr(gradients, "derivatives", off)
    report = fuzz_gradients(3600, 4, limit=60)
    assert report.failures
    for _, mode, what, program in report.failures:
        assert what.startswith("the derivative is") and gradients.check(program, mode)
        statements = [v.text for v in program.variables if v.text]
        assert len(statements) <= 3 and any("T.tanh(" in text for text in statements), statements
        text = gradients.printed(program).source(("'FAST_COMPILE'", "'STRICT'"))
        exec(text, {"print": lambda *values: None})


def test_a_gradient_that_rules_make_nan_is_seen_and_one_that_is_nan_by_itself_is_not(monkeypatch):
    x = Variable("v0", np.array([1.0, 2.0]), None, (None,))
    singular = Program([x, Variable("v1", np.asarray(0.0), "T.sum(T.cbrt(v0 - v0))")], ["v1"])
    smooth = Program([x, Variable("v1", np.asarray(0.0), "T.sum(T.exp(v0))")], ["v1"])
    assert gradients.check(singular, VM[0]) is None is gradients.check(smooth, VM[0])
    right = gradients.derivatives
    nan = lambda ps, mode: [[g * np.nan for g in gs] for gs in right(ps, mode)] if mode == VM[0] else right(ps, mode)  # noqa: E731
    monkeypatch.setattr(gradients, "derivatives", nan)
    assert "the derivative is nan" in gradients.check(smooth, VM[0])


def test_costs_with_kinks_are_not_judged():
    x = Variable("v0", np.zeros(3), None, (None,))
    for text, judged in [("T.sum(abs(v0))", False), ("T.sum(v0 ** 3 + v0)", True), ("T.sum(T.floor(v0))", False),
                         ("T.sum(T.exp(v0))", True), ("T.sum(T.sqrt(abs(v0)))", False)]:  # fmt: skip
        program = Program([x, Variable("v1", np.asarray(0.0), text)], ["v1"])
        assert (gradients.slope(program, 1) is not None) == judged, text


def test_a_program_that_is_wrong_beside_another_only_is_found_with_it(monkeypatch):
    programs = [(s, p, Allowed(p)) for s, p in ((s, runner.small(s)) for s in range(12)) if p.outputs]
    programs = [(s, p, a) for s, p, a in programs if a.judges(VM[0])]
    culprit = programs[7][1]
    names = [v.text for v in culprit.variables]

    def off(some, mode, right=runner.together):
        results = right(some, mode)
        if any([v.text for v in p.variables] == names for p in some):
            results = [
                r if p is culprit or len(some) == 1 else [np.asarray([np.nan] * 77)] * len(r)
                for p, r in zip(some, results)
            ]
        return results

    monkeypatch.setattr(runner, "together", off)
    report = runner.Report(0)
    runner.try_all(programs[6:8] + programs[:5], VM[0], report)
    assert len(report.failures) == 6
    for _, _, what, together in report.failures:
        assert "only beside 1 other" in what and len({v.name[-3:] for v in together.variables}) == 2
        exec(
            together.source(("'FAST_COMPILE'",)).replace("('FAST_COMPILE')", "['FAST_COMPILE']"),
            {"print": lambda *v: None},
        )


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
