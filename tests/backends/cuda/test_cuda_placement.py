"""Where operations run: rules move them to the device, copies stand at the borders and nowhere else."""

import numpy as np
import pytest
from backends.cuda.cudacases import inside, no_emulation, ops_of
from lower.randomgraphs import Graphs, agree

import termgraph as tg
import termgraph.tensor as T
from termgraph import db
from termgraph.backends.cuda import placement
from termgraph.backends.cuda.doctor import left_on_cpu
from termgraph.backends.cuda.link import link
from termgraph.backends.cuda.run import device
from termgraph.cli import main
from termgraph.function.cuda import placement_rules
from termgraph.function.mode import get_mode
from termgraph.terms.evaluate import evaluate
from termgraph.terms.ops import transfer
from termgraph.terms.ops.transfer import Judge, gpu_from_host, host_from_gpu, judging
from termgraph.terms.term import mk1
from termgraph.terms.traverse import children_first
from termgraph.vm.machine import Machine
from termgraph.vm.partition import Refusal

LINKER = "auto"
emulated = pytest.mark.skipif(bool(no_emulation), reason=no_emulation or "g++")


def test_the_rules_can_be_asked_for_and_used_by_hand():
    x, y = T.dvectors("x", "y")
    found = db.query("+gpu")
    assert {r.name for r in found} == {
        "placement.onto_device",
        "placement.there_and_back",
        "placement.back_and_there",
        "placement.across",
        "placement.nowhere",
    }
    assert not {r.name for r in db.query("+fast_run")} & {r.name for r in found}
    new = tg.rewrite(T.exp(x) * T.sort(T.log(y)), "+gpu").term
    assert str(new) == (
        "host_from_gpu(mul(exp(gpu_from_host(x)), gpu_from_host(sort(host_from_gpu(log(gpu_from_host(y)))))))"
    )
    assert db.why_not("placement.onto_device", T.sort(x))


def test_copies_go_in_pairs():
    x = T.dvector("x").term
    rules = db.query("+gpu")
    up, down = (lambda t, k: mk1(gpu_from_host.bind(device=k), t)), (lambda t, k: mk1(host_from_gpu.bind(device=k), t))
    there = up(x, 1)
    assert rules.rewrite_terms([up(down(there, 1), 1)])[0] == [there]
    assert rules.rewrite_terms([down(there, 1)])[0] == [x]
    (across,) = rules.rewrite_terms([up(down(transfer.resident.bind(device=1)(x), 1), 0)])[0]
    assert across.op.params == {"device": 0, "source": 1}


def test_types_are_kept_and_copies_stand_at_borders():
    for seed in range(8):
        outputs = Graphs(seed).grow(8).outputs()
        judge = Judge(lambda t: "odd" if t.op.kind == "reduce" else None)
        with judging(judge):
            roots, _ = db.query("+gpu").rewrite_terms(outputs)
        assert [r.type for r in roots] == [r.type for r in outputs]
        assert [judge.plain(r) for r in roots] == outputs
        for t in children_first(roots):
            places = {judge.device(a) for a in t.args if a.args}
            if t.op.family is gpu_from_host:
                assert places <= {None} and t.args[0].op.family is not host_from_gpu
            elif t.op.family is host_from_gpu:
                assert places == {0} and t.args[0].op.family is not gpu_from_host
            elif t.args:
                assert len(places) <= 1  # all operands are in one place
                assert (judge.device(t) is None) == (judge.why_not(judge.plain(t)) is not None)


def test_the_doctor_says_what_stays_on_the_cpu(capsys, monkeypatch):
    found = left_on_cpu()
    whole = found["no kernel"]
    assert {"svd", "unique", "fft", "solve"} <= {*whole} and not {"sort", "sum", "dot", "softmax", "join"} & {*whole}
    assert "polygamma" in found["no kernel for float32"] and "exp" not in found["no kernel for float32"]
    for name in whole[:3]:
        assert not placement.has_kernel(name)
    monkeypatch.setattr(tg.config, "device", "cpu")
    assert main(["doctor"]) == 0
    shown = "stays on the CPU" in capsys.readouterr().out
    assert shown == (device.why_not() is None)  # where nobody asked for a GPU, and there is none, it says nothing
    monkeypatch.setattr(tg.config, "device", "cuda")
    main(["doctor"])
    assert "stays on the CPU" in capsys.readouterr().out


@emulated
def test_a_trace_tells_who_placed_what(gpu):
    x = T.fvector("x")
    f = tg.function([x], T.exp(x) + T.polygamma(1, x))
    assert {"placement.onto_device", "placement.there_and_back"} <= {r.rule for r in f.trace}
    assert ops_of(f) == ["gpu_from_host", "cuda", "polygamma", "gpu_from_host", "cuda", "host_from_gpu"]
    assert f.on_cpu() == ["polygamma: CUDA has no polygamma of float32"] and f.profile.stages["gpu"] > 0


@inside
@emulated
def test_without_the_rules_nothing_is_on_the_device(gpu):
    x, w = T.fvector("x"), tg.shared(np.ones(3, "float32"))
    f = tg.function([x], T.exp(x) + w, updates=[(w, w + x)], mode=get_mode(None).excluding("gpu"))
    np.testing.assert_allclose(f([0, 0, 0]), [2, 2, 2])
    np.testing.assert_allclose(f([0, 0, 0]), [2, 2, 2])
    assert not gpu.driver.launches and "cuda" not in ops_of(f)
    assert f.on_cpu() and all("left out" in line for line in f.on_cpu())


class Watch(tg.Op):
    """Passes its operand on; sees what the device still has to do."""

    itypes, otypes = [T.fvector], [T.fvector]
    seen: list = []

    def perform(self, node, inputs, output_storage):
        from termgraph.backends.cuda.run.device import current

        self.seen.append(len(current().driver.queue))
        output_storage[0][0] = inputs[0].copy()


@inside
@emulated
def test_the_host_works_while_the_device_does(gpu):
    x, y = T.fvector("x"), T.fvector("y")
    watch = Watch()
    f = tg.function([x, y], [watch(x) + 1, T.exp(y)])
    watch.seen.clear()
    f(np.ones(3, "float32"), np.ones(3, "float32"))
    assert watch.seen[0] > 0
    assert ops_of(f).index("cuda") < ops_of(f).index("Watch") < ops_of(f).index("host_from_gpu")


@emulated
@pytest.mark.parametrize("seed", range(10))
def test_graphs_of_which_some_parts_are_refused(gpu, seed):
    """Whatever a device may not be able to do, the values are right."""
    g = Graphs(seed).grow(4 + seed)
    outputs = g.outputs()
    order = [t for t in children_first(outputs) if t.args]
    odd = {t for k, t in enumerate(order) if (k * 7 + seed) % 3 == 0}
    while True:
        judge = Judge(lambda t: "not today" if t in odd else placement.why_not(t))
        with judging(judge):
            roots, _ = placement_rules(get_mode(None).options()).rewrite_terms(outputs)
        program = link(g.args, roots, judge, lambda number: gpu, "f", {})
        if not isinstance(program, Refusal):
            break
        assert program.term not in odd
        odd.add(program.term)
    with np.errstate(all="ignore"):
        want = evaluate(outputs, dict(zip(g.args, g.values)))
        got = Machine(program)(list(g.values))
    agree([np.asarray(a) for a in got], want, g, outputs, seed)
    kernels = [i for i in program.instructions if i.op.kind == "kernel"]
    assert not {t for i in kernels for t in i.terms} & odd
