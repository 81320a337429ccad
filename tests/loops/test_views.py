"""map, reduce, folds, checkpoints, and what is printed of a loop."""

import tracemalloc

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T

x, w, h0 = T.dvector("x"), T.dscalar("w"), T.dscalar("h0")


def test_map_reduce_and_folds():
    squares, _ = tg.map(lambda a, k: a**2 * k, x, non_sequences=w)
    assert tg.function([x, w], squares)([1.0, 2.0], 3.0).tolist() == [3, 12]
    for f, expected in ((tg.reduce, 123), (tg.foldl, 123), (tg.foldr, 321)):
        number, updates = f(lambda a, so_far: so_far * 10 + a, x, 0.0)
        assert tg.function([x], number, mode="None")([1.0, 2.0, 3.0]) == expected and not updates
    (total, last), _ = tg.reduce(lambda a, t: (t + a, a), x, [0.0, None])
    assert [float(v) for v in tg.function([x], [total, last])([1.0, 2.0])] == [3, 2]
    assert tg.function([x], tg.reduce(lambda a, t: t + a, x, 5.0)[0], mode="None")([]) == 5


@pytest.mark.parametrize("every", [1, 2, 3, "sqrt", 10])
@pytest.mark.parametrize("mode", ["None", "FAST_RUN"])
def test_checkpoints(every, mode):
    def step(a, h):
        return T.tanh(a * w + h), a * h

    (kept, other), _ = tg.scan_checkpoints(step, x, [h0, None], save_every_N=every)
    (whole, all_others), _ = tg.scan(step, x, [h0, None])
    wrt = [x, w, h0]
    pairs = [(kept[-1], whole[-1]), (other[-1], all_others[-1])]
    pairs += list(zip(tg.grad(kept[-1] * other[-1], wrt), tg.grad(whole[-1] * all_others[-1], wrt)))
    f = tg.function([x, w, h0], [v for pair in pairs for v in pair], mode=mode)
    got = f(np.linspace(0.1, 0.5, 6), 0.7, 0.2)
    for a, b in zip(got[::2], got[1::2]):
        np.testing.assert_allclose(a, b, rtol=1e-9)


def test_checkpoints_need_less_memory():
    H = T.dvector("H")
    peaks = []
    for scan in (tg.scan, tg.scan_checkpoints):
        out, _ = scan(lambda a, h: T.sin(h * a), x, H)
        f = tg.function([x, H], tg.grad(out[-1].sum(), H), mode=tg.Mode(linker="py"))
        values = (np.linspace(0.5, 1.5, 400), np.ones(500))
        f(*values)
        tracemalloc.start()
        f(*values)
        peaks.append(tracemalloc.get_traced_memory()[1])
        tracemalloc.stop()
    assert peaks[1] < 0.3 * peaks[0]


def test_checkpoints_refuse_what_they_cannot():
    with pytest.raises(ValueError, match="one step back only"):
        tg.scan_checkpoints(lambda a, b: a, {"input": x, "taps": [0, 1]})
    with pytest.raises(ValueError, match="'sqrt', got 0"):
        tg.scan_checkpoints(lambda a: a, x, save_every_N=0)
    with pytest.raises(ValueError, match="until"):
        tg.scan_checkpoints(lambda a: (a, tg.until(a > 0)), x)


def test_inner_graphs_are_printed_once():
    m = T.dmatrix("m")
    out, _ = tg.scan(lambda row: tg.scan(lambda a, h: a + h, row, 0.0, name="inner")[0], m, name="outer")
    text = tg.dprint([out, out + 1], file="str")
    assert text.count("Inner graph of loop{outer}") == 1 and text.count("Inner graph of loop{inner}") == 1
    assert "row of m[t] $0 <- m [id" in text and " result 0:" in text
