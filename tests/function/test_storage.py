"""storage=: what the backward pass reads late is kept in 16 bits; costs keep their bits, gradients are rounded."""

import pickle

import numpy as np
import pytest
from backends.cuda.cudacases import no_emulation

import termgraph as tg
import termgraph.tensor as T
from emucuda.driver import emulation
from termgraph.backends.c.build.compilers import find_compiler
from termgraph.terms.traverse import children_first

pytestmark = pytest.mark.skipif(find_compiler() is None, reason="needs a C compiler")
C = tg.Mode(linker="c")
UNIT = {"bfloat16": 2.0**-8, "float16": 2.0**-11}


def weights_of(rng, *shapes):
    return [tg.shared((rng.standard_normal(s) / np.sqrt(np.prod(s[1:]) or 1)).astype("float32")) for s in shapes]


def mlp(rng):
    x = h = T.tensor("x", dtype="float32", shape=(64, 32))
    weights = weights_of(rng, *[(32, 32)] * 8)
    for w in weights:
        h = T.tanh(h @ w)
    return x, (h * h).mean(), weights


def normalised(rng):
    """Dense layers with batch norm and a bound: the bound is decided before anything is rounded."""
    x = h = T.tensor("x", dtype="float32", shape=(64, 32))
    weights = weights_of(rng, *[(32, 32)] * 6)
    for w in weights:
        away = (z := h @ w) - z.mean(axis=0, keepdims=True)
        h = h + T.maximum(away / T.sqrt((away * away).mean(axis=0, keepdims=True) + 1e-3), 0)
    return x, (h * h).mean(), weights


def convnet(rng):
    x = h = T.tensor("x", dtype="float32", shape=(4, 3, 16, 16))
    weights = weights_of(rng, (8, 3, 3, 3), (8, 8, 3, 3), (8, 8, 3, 3), (8, 8, 3, 3), (8, 8, 3, 3))
    for k, w in enumerate(weights):
        z = T.nnet.conv2d(h, w, border_mode=(1, 1))
        away = z - z.mean(axis=(0, 2, 3), keepdims=True)
        h = T.maximum(away / T.sqrt((away * away).mean(axis=(0, 2, 3), keepdims=True) + 1e-3), 0)
        if k == 2:
            h = T.signal.pool_2d(h, (2, 2), ignore_border=True)
    return x, (h * h).mean(), weights


def transformer(rng, width=32):
    x = h = T.tensor("x", dtype="float32", shape=(2, 16, width))
    weights = []
    for _ in range(3):
        q, k, v, out, up, down = weights_of(rng, *[(width, width)] * 4, (width, 2 * width), (2 * width, width))
        seen = T.softmax((h @ q) @ (h @ k).transpose(0, 2, 1) / width**0.5, axis=-1)
        h = h + (seen @ (h @ v)) @ out
        away = h - h.mean(axis=-1, keepdims=True)
        norm = away / T.sqrt((away * away).mean(axis=-1, keepdims=True) + 1e-3)
        h = h + T.maximum(norm @ up, 0) @ down
        weights += [q, k, v, out, up, down]
    return x, (h * h).mean(), weights


NETS = [mlp, normalised, convnet, transformer]


def step(net, storage, trained=False, **options):
    options.setdefault("mode", C)
    rng = np.random.default_rng(0)
    x, loss, weights = net(rng)
    gradients = tg.grad(loss, weights)
    if trained:
        changes = [(w, w - np.float32(0.05) * g) for w, g in zip(weights, gradients)]
        f = tg.function([x], loss, updates=changes, storage=storage, **options)
    else:
        f = tg.function([x], [loss, *gradients], storage=storage, **options)
    return f, rng.standard_normal(x.type.shape).astype("float32"), weights


def kept_in(f):
    return [t for t in children_first(f.maker.work.roots) if t.args and t.op.family.name == "stored_as"]


def error(expected, got):
    return max(np.linalg.norm(a - b) / np.linalg.norm(a) for a, b in zip(expected, got))


@pytest.mark.parametrize("dtype", UNIT)
@pytest.mark.parametrize("net", NETS)
def test_f95_costs_keep_their_bits_and_gradients_are_rounded_in_less_memory(net, dtype):
    whole, x, _ = step(net, None)
    halved, _, _ = step(net, dtype)
    (loss, *gradients), (same, *rounded) = whole(x), halved(x)
    assert loss.tobytes() == same.tobytes()
    assert 0 < error(gradients, rounded) < 4 * UNIT[dtype]
    assert len(kept_in(halved)) > 3
    trained, x, _ = step(net, None, trained=True)  # without gradients as results, which lend their memory
    halved, _, _ = step(net, dtype, trained=True)
    assert halved.memory(x).temporaries < 0.95 * trained.memory(x).temporaries


@pytest.mark.parametrize("net", NETS)
def test_training_reaches_the_same_loss(net):
    losses = []
    for storage in (None, "bfloat16"):
        f, x, _ = step(net, storage, trained=True)
        losses.append([float(f(x)) for _ in range(40)])
    assert losses[0][-1] < 0.9 * losses[0][0]
    np.testing.assert_allclose(losses[1], losses[0], rtol=2e-2)


@pytest.mark.parametrize("net", NETS)
def test_the_virtual_machine_gives_the_same_values(net):
    native, x, _ = step(net, "bfloat16")
    machine, _, _ = step(net, "bfloat16", mode=tg.Mode(linker="py"))
    assert kept_in(machine)
    if net is convnet:  # convolutions are computed in another way there
        assert 0 < error(step(net, None)[0](x)[1:], machine(x)[1:]) < 4 * UNIT["bfloat16"]
        return
    assert [t.op for t in kept_in(native)] == [t.op for t in kept_in(machine)]
    for a, b in zip(native(x), machine(x)):
        np.testing.assert_allclose(a, b, rtol=2e-3, atol=2e-3 * np.abs(b).max())


def test_the_table_says_what_is_kept_and_how_far_off_it_is():
    f, x, _ = step(mlp, "bfloat16")
    text = str(f.memory(x))
    assert "arrays are kept in bfloat16: " in text and "an element is off by at most 2**-8 of its size" in text
    assert "2**-11" in str(step(mlp, "float16")[0].memory(x)) and "kept in" not in str(step(mlp, None)[0].memory(x))
    assert any(a.dtype == "bfloat16" for a in f.memory(x).arrays)
    assert "storage" in f.maker.work.rule_counts() and len(f.stage("halves").traces) > 0


@pytest.mark.parametrize("dtype", UNIT)
def test_the_bound_in_the_table_is_true(dtype):
    v = np.random.default_rng(1).uniform(1e-3, 100, 10000).astype("float32")
    x = T.tensor("x", dtype="float32", shape=(10000,))
    rounded = tg.function([x], T.cast(T.cast(x, dtype), "float32"))(v)
    off = np.max(np.abs(rounded - v) / v)
    assert 0.9 * UNIT[dtype] < off <= UNIT[dtype]


def test_signs_and_choices_are_those_of_the_numbers_before_rounding():
    """|x - c| for x near c: rounded numbers would choose other sides, and gradients would be wrong by as much as 2."""
    x = h = T.tensor("x", dtype="float32", shape=(64, 64))
    rng = np.random.default_rng(2)
    weights = [tg.shared(np.eye(64, dtype="float32") + 0.01 * rng.standard_normal((64, 64)).astype("float32"))
               for _ in range(6)]  # fmt: skip
    for w in weights:
        h = abs((h @ w) - 1) + T.minimum(h, 1) + 0 * T.exp(h @ w)
    loss = h.mean()
    outs = [loss, *tg.grad(loss, weights)]
    v = (1 + 2.0**-10 * rng.standard_normal((64, 64))).astype("float32")
    exact, halved = (tg.function([x], outs, mode=C, storage=s)(v) for s in (None, "bfloat16"))
    assert error(exact[1:], halved[1:]) < 4 * UNIT["bfloat16"]


def test_costs_that_are_no_results_are_known():
    rng = np.random.default_rng(0)
    x, loss, weights = mlp(rng)
    changes = [(w, w - np.float32(0.1) * g) for w, g in zip(weights, tg.grad(loss, weights))]
    f = tg.function([x], [], updates=changes, storage="bfloat16", mode=C)
    assert len(kept_in(f)) > 3
    value, before = rng.standard_normal((64, 32)).astype("float32"), [w.get_value() for w in weights]
    f(value)
    moved = [w.get_value() - b for w, b in zip(weights, before)]
    exact = tg.function([x], tg.grad(loss, weights), mode=C)
    for w, b in zip(weights, before):
        w.set_value(b)
    assert error([-0.1 * g for g in exact(value)], moved) < 4 * UNIT["bfloat16"]


def test_a_limit_and_storage_together():
    whole, x, _ = step(mlp, None)
    halved, _, _ = step(mlp, "bfloat16")
    both, _, _ = step(mlp, "bfloat16", memory_limit=0.8)
    assert both.memory(x).peak <= 0.8 * halved.memory(x).peak < whole.memory(x).peak
    for a, b in zip(halved(x), both(x)):
        np.testing.assert_array_equal(a, b)


@pytest.mark.parametrize("net", [mlp, convnet])
def test_saved_functions_keep_it(net, tmp_path):
    f, x, _ = step(net, "bfloat16")
    expected = f(x)
    tg.save(f, tmp_path / "step.tg")
    for again in (tg.load(tmp_path / "step.tg"), pickle.loads(pickle.dumps(f)), f.copy()):
        assert again.maker.mode.storage == "bfloat16" and len(kept_in(again)) == len(kept_in(f))
        for a, b in zip(expected, again(x)):
            np.testing.assert_array_equal(a, b)
    with tg.config.change_flags({"reoptimize_unpickled_function": True}):
        assert len(kept_in(pickle.loads(pickle.dumps(f)))) == len(kept_in(f))


def test_programs_are_kept_apart():
    for _ in range(2):
        for storage in (None, "bfloat16", "float16"):
            f, x, _ = step(mlp, storage)
            dtypes = {a.dtype for a in f.memory(x).arrays}
            assert dtypes == {"float32", storage or "float32"}


def test_weights_of_other_shapes():
    rng = np.random.default_rng(0)
    x = h = T.tensor("x", dtype="float32", shape=(None, None))
    weights = [tg.shared((rng.standard_normal((16, 16)) / 4).astype("float32")) for _ in range(6)]
    for w in weights:
        h = T.tanh(h @ w)
    loss = (h * h).mean()
    outs = [loss, *tg.grad(loss, weights)]
    exact, halved = (tg.function([x], outs, mode=C, storage=s) for s in (None, "bfloat16"))
    for width in (16, 24):
        for w in weights:
            w.set_value((rng.standard_normal((width, width)) / 4).astype("float32"))
        value = rng.standard_normal((8, width)).astype("float32")
        (a, *expected), (b, *got) = exact(value), halved(value)
        assert a == b and 0 < error(expected, got) < 4 * UNIT["bfloat16"]


def test_gradients_of_gradients():
    x, loss, weights = mlp(np.random.default_rng(0))
    length = sum((g * g).sum() for g in tg.grad(loss, weights))
    outs = [length, *tg.grad(length, weights)]
    v = np.random.default_rng(1).standard_normal((64, 32)).astype("float32")
    exact, halved = (tg.function([x], outs, mode=C, storage=s)(v) for s in (None, "bfloat16"))
    assert exact[0] == halved[0]
    assert 0 < error(exact[1:], halved[1:]) < 8 * UNIT["bfloat16"]


def test_loops():
    """What a loop of the backward pass reads of all steps stays as it is; what products read of it is rounded."""
    xs, w = T.tensor("xs", dtype="float32", shape=(10, 4, 16)), tg.shared(np.eye(16, dtype="float32") / 2)
    hs = tg.scan(lambda x, h, w: T.tanh(x + h @ w), sequences=xs, outputs_info=[T.zeros((4, 16), dtype="float32")],
                 non_sequences=[w])[0]  # fmt: skip
    loss = (hs**2).mean()
    v = np.random.default_rng(1).standard_normal((10, 4, 16)).astype("float32")
    a, b = (tg.function([xs], [loss, tg.grad(loss, w)], mode=C, storage=s)(v) for s in (None, "bfloat16"))
    assert a[0] == b[0] and error(a[1:], b[1:]) < 4 * UNIT["bfloat16"]


@pytest.mark.parametrize("wrong", ["int8", "float32", "bfloat", 16, True])
def test_unknown_names_are_refused(wrong):
    with pytest.raises(ValueError, match="storage must be one of 'bfloat16', 'float16', or None, got"):
        tg.function([], T.ones((3,)), storage=wrong)


def test_what_has_no_gradients_says_so():
    x = T.lmatrix("x")
    f = tg.function([x], x @ x, storage="bfloat16", mode=C)
    assert "storage='bfloat16': no array is kept in 16 bits: it has no gradients" in str(f.memory(np.ones((2, 2), int)))
    y = T.dvector("y")
    f = tg.function([y], tg.grad(T.exp(y).sum(), y), storage="bfloat16", mode=C)
    assert "what its gradients read is small, or needed at once" in str(f.memory(np.ones(3)))
    np.testing.assert_array_equal(f(np.ones(3)), np.exp(np.ones(3)))


def test_modes_carry_it_and_those_that_compare_compute_exactly():
    mode = tg.Mode(linker="c", storage="bfloat16")
    assert mode.options().storage == "bfloat16" and "storage='bfloat16'" in repr(mode) and mode != C
    assert len(kept_in(step(mlp, None, mode=mode)[0])) > 3
    checked, x, _ = step(mlp, "bfloat16", mode=tg.DebugMode() if hasattr(tg, "DebugMode") else "DEBUG_MODE")
    assert not kept_in(checked)
    checked(x)


def test_float64_is_kept_in_a_quarter():
    rng = np.random.default_rng(0)
    x = h = T.tensor("x", dtype="float64", shape=(64, 32))
    weights = [tg.shared(rng.standard_normal((32, 32)) / 6) for _ in range(8)]
    for w in weights:
        h = T.tanh(h @ w)
    loss = (h * h).mean()
    outs, v = [loss, *tg.grad(loss, weights)], rng.standard_normal((64, 32))
    exact, halved = (tg.function([x], outs, mode=C, storage=s) for s in (None, "bfloat16"))
    assert exact(v)[0] == halved(v)[0] and 0 < error(exact(v)[1:], halved(v)[1:]) < 4 * UNIT["bfloat16"]
    assert all(t.op.params["dtype"] == "bfloat16" for t in kept_in(halved))


@pytest.mark.skipif(bool(no_emulation), reason=no_emulation or "g++")
@pytest.mark.parametrize("dtype", UNIT)
def test_a_gpu_keeps_them_as_well(dtype):
    whole, x, _ = step(normalised, None)
    with emulation(), tg.config.change_flags(device="cuda"):
        f, _, _ = step(normalised, dtype, mode=tg.Mode(linker="cuda"))
        got = [np.asarray(v) for v in f(x)]
    assert len(kept_in(f)) > 3 and 0 < error(whole(x)[1:], got[1:]) < 4 * UNIT[dtype]
    np.testing.assert_allclose(got[0], whole(x)[0], rtol=1e-5)
