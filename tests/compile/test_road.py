"""The road: its list, the table of a function's stages, and their values."""

import json
from dataclasses import FrozenInstanceError
from time import perf_counter

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph import cli
from termgraph.backends.c.build.compilers import find_compiler
from termgraph.compile import road
from termgraph.lower import lowering

LINKER = "auto"

x = T.dvector("x")
m = T.dmatrix("m")
needs_c = pytest.mark.skipif(find_compiler() is None, reason="no C compiler on this machine")
LOWERED = [stage.name for stage in road.LOWERING]


@pytest.fixture
def cold():
    """No program comes from the cache."""
    with tg.config.change_flags({"cache.programs": False}):
        yield


def options(**given):
    return tg.Mode(**given).options()


def test_the_list_names_the_functions_that_lowering_runs():
    assert [(s.name, s.function) for s in road.LOWERING] == [(s.name, s.function) for s in lowering.LOWERING]
    for backend in road.BACKENDS.values():
        assert all(callable(stage.function) for stage in (backend.asked, *backend.stages))


def test_backends_are_asked_alike():
    first, plain = T.unique(x).term, T.exp(x).term
    assert [b.why_not(plain) for b in road.BACKENDS.values()] == [None, None, None]
    assert road.C.why_not(first) and road.CUDA.why_not(first) and road.VM.why_not(first) is None


def test_modes_take_different_stages():
    names = lambda **given: [s.name for s in road.road_of(options(**given))]  # noqa: E731
    assert names(linker="py")[-2:] == ["place", "bind"] and "expand" not in names(linker="py")
    assert names(linker="py", optimizer="None") == ["capture", "inline", "place", "bind"]
    assert names(linker="py", strict=True) == names(linker="py", optimizer="fast_compile") == names(linker="py")


@needs_c
def test_f_stages_lists_the_road_and_accounts_for_the_time(cold):
    big = T.nnet.softmax(T.dot(m, m.T)) + T.exp(m).sum()
    start = perf_counter()
    f = tg.function([m], big)
    took = perf_counter() - start
    rows = [r for r in f.stages if r.stage not in ("options", "cache")]
    assert [r.stage for r in rows] == [s.name for s in road.road_of(f.maker.work.options)]
    assert sum(r.seconds for r in f.stages) > 0.8 * took  # 95 % and more; other work of the machine may come between
    assert {r.runs for r in rows} == {1}
    by_name = {r.stage: r for r in rows}
    assert by_name["print"].bytes == len(f.source("c")) and by_name["loop tree"].kernels >= 1
    assert by_name["specialize"].nodes == len(f.maker.fgraph.toposort()) + 1 + sum(
        isinstance(v, tg.Constant) for v in f.maker.fgraph.variables
    )
    assert "schedule" in str(f.stages) and f.profile.stages["build"] == by_name["build"].seconds


@needs_c
@pytest.mark.parametrize("stage", ["capture", "canonicalize", "place", *LOWERED, "print", "build"])
def test_every_stage_has_a_value_that_prints(cold, stage):
    w = tg.shared(np.ones(3), "w")
    f = tg.function([m], [T.nnet.softmax(m), T.log(1 + w)], updates=[(w, w * 0.5 + m[0])])
    value = f.stage(stage)
    assert str(value).strip() and "object at" not in str(value)
    if stage not in ("print", "build", "capture"):
        with pytest.raises(FrozenInstanceError):
            value.anything_else = 1


@needs_c
def test_scheduling_leaves_the_loop_tree_as_it_was(cold):
    a = T.dtensor3("a")
    f = tg.function([a], T.tanh(T.matmul(a, a) + 1.0))
    tree = f.stage("loop tree")
    assert str(lowering.planted(f.stage("storage"))) == str(tree) != str(f.stage("schedule"))


@needs_c
def test_what_a_warm_start_skipped_runs_when_it_is_asked_for(tmp_path):
    y = T.log(1 + T.exp(x)) * 3
    with tg.config.change_flags({"cache.dir": str(tmp_path)}):
        first, second = tg.function([x], y), tg.function([x], y)
    if not second.maker.work.warm:
        pytest.skip(f"the program was not kept: {first.maker.work.not_kept}")
    skipped = {r.stage for r in second.stages if r.note.startswith("skipped")}
    assert skipped >= {"canonicalize", "place", *LOWERED, "print"} and "build" not in skipped
    assert str(second.stage("schedule")) == str(first.stage("schedule"))
    notes = {r.stage: r.note for r in second.stages}
    assert notes["schedule"] == "when asked for" and second.trace and second.maker.work.warm
    assert str(second.stage("stabilize")) == str(first.stage("stabilize"))  # was run for the schedule


@needs_c
def test_programs_in_parts_have_a_value_for_each_part(cold):
    f = tg.function([x], T.exp(T.unique(T.tanh(x) * 2) + 1).sum())
    assert len(f.stage("schedule")) == 2 and "# part 1" in str(f.stage("schedule"))
    assert {r.stage: r.runs for r in f.stages}["print"] == 2


def test_a_stage_that_does_not_exist_or_did_not_run():
    f = tg.function([x], x + 1, mode=tg.Mode(linker="py"))
    with pytest.raises(ValueError, match="no stage 'schedule'; the stages of this function are capture, inline"):
        f.stage("schedule")


def test_the_command_line_shows_stages(capsys, tmp_path):
    assert cli.main(["stages", "log(1 + exp(x))"]) == 0
    assert "canonicalize" in capsys.readouterr().out
    assert cli.main(["stages", "log(1 + exp(x))", "stabilize", "--json"]) == 0
    assert json.loads(capsys.readouterr().out) == {"stabilize": "out0 = softplus($0)"}
    path = tmp_path / "f.tg"
    tg.save(tg.function([x], x + 1, mode=tg.Mode(linker="py")), path)
    assert cli.main(["stages", str(path), "place"]) == 0
    assert "add(%0, %1)" in capsys.readouterr().out
    tg.save(x, path)
    assert cli.main(["stages", str(path)]) == 2
    assert "no function but TensorVariable" in capsys.readouterr().err


@needs_c
def test_what_lowering_made_is_dropped_and_made_again_when_asked_for():
    f, x = square_root()
    entries = list(f.maker.work.ledger.entries)
    assert f(x) is not None and all(e.value is None for e in entries if e.stage in ("storage", "memory", "print"))
    assert all(code.lowered is None for code, _ in f.maker.work.native.values())
    assert f.stage("print").source == f.source("c") and "kernel" in str(f.stage("loop tree"))
    assert f.maker.work.ledger.entries == entries  # no stage is counted twice


def square_root():
    x = T.dvector("x")
    with tg.config.change_flags({"cache.programs": False}):
        return tg.function([x], T.sqrt(x) + 1, mode=tg.Mode(linker="c")), np.ones(3)


@needs_c
def test_the_table_of_stages_makes_nothing_again(cold, monkeypatch):
    """What was made is dropped when the program is there, but not how large it was."""
    from termgraph.backends.c import generate

    x = T.dvector("x")
    f = tg.function([x], T.exp(x).sum() + x.sum())
    monkeypatch.setattr(generate, "generated", lambda *given, **options: pytest.fail("lowered again"))
    table = {row.stage: row for row in f.stages}
    assert table["storage"].nodes and table["loop tree"].kernels and table["print"].bytes == len(f.source("c"))
