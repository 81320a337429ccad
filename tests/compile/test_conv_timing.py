"""Convolutions that are timed: candidates, the record in the cache, a second process, other lengths."""

import json
import os
import subprocess
import sys

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph.backends.cuda.run import cudnn
from termgraph.compile import conv_timing
from termgraph.compile.options import Options

FLAGS = {f"dnn.conv.algo_{k}": "time_once" for k in ("fwd", "bwd_data", "bwd_filter")}
C = tg.Mode(linker="c")


@pytest.fixture
def timed(monkeypatch, tmp_path):
    """What was timed, where the last way in the alphabet wins."""
    calls = []

    def seconds(t, way, options):
        calls.append((t.op.family.name.removeprefix("AbstractConv2d"), way))
        return 1 / ord(way[0])

    monkeypatch.setattr(conv_timing, "_seconds", seconds)
    with tg.config.change_flags(**{**FLAGS, "cache.dir": str(tmp_path)}):
        yield calls


def layer(n=9, dtype="float32", k=3):
    x = T.tensor("x", dtype=dtype, shape=(2, 4, n, n))
    w = T.tensor("w", dtype=dtype, shape=(5, 4, k, k))
    return x, w, T.nnet.conv2d(x, w, border_mode="half")


def test_f67_the_winner_is_used_and_remembered(timed):
    x, w, y = layer()
    f = tg.function([x, w], [y, *tg.grad(T.sqr(y).sum(), [x, w])], mode=C)
    assert timed == [
        ("", "winograd"), ("", "panels"), ("", "gemm"), ("_gradInputs", "winograd"), ("_gradInputs", "panels"),
        ("_gradInputs", "gemm"), ("_gradWeights", "panels"), ("_gradWeights", "gemm"),
    ]  # fmt: skip
    assert [r.rule for r in f.trace].count("conv_as_winograd.forward") == 2  # of the images' gradient as well
    timed.clear()
    tg.function([x, w], y + 1, mode=C)
    assert timed == []
    x, w, y = layer(n=8)
    tg.function([x, w], y, mode=C)
    assert timed == [("", "winograd"), ("", "panels"), ("", "gemm")]


def test_f67_candidates_follow_filters_modes_and_lengths(timed):
    for build, mode, wanted in (
        (lambda: layer(k=5), C, ["winograd", "panels", "gemm"]),
        (lambda: layer(k=4), C, ["panels", "gemm"]),
        (lambda: layer(dtype="int32"), C, ["panels", "gemm"]),
        (lambda: layer(n=30, k=17), C, ["panels", "gemm", "fft"]),
        (layer, C.excluding("conv_winograd"), ["panels", "gemm"]),
        (layer, tg.Mode(linker="py"), []),  # nothing to choose from
        (layer, "STRICT", []),
    ):
        x, w, y = build()
        tg.function([x, w], y, mode=mode)
        assert [way for _, way in timed] == wanted
        timed.clear()
    x = T.ftensor4("x")
    tg.function([x, w], T.nnet.conv2d(x, w), mode=C)
    tg.function([x, w], T.nnet.conv2d(x, w, algo="gemm"), mode=C)
    assert timed == []


def test_f67_times_are_taken_and_a_second_process_does_not_take_them_again(tmp_path, rng):
    x, w, y = layer()
    with tg.config.change_flags(**{"dnn.conv.algo_fwd": "time_on_shape_change", "cache.dir": str(tmp_path)}):
        f = tg.function([x, w], y, mode=C)
        found = conv_timing.fastest(y.term, f.maker.work.options)
    assert set(found.seconds) == {"winograd", "panels", "gemm"} and min(found.seconds.values()) > 0
    assert found.way == min(found.seconds, key=found.seconds.get) and "ms" in str(found)
    a, b = rng.normal(size=x.type.shape).astype("f"), rng.normal(size=w.type.shape).astype("f")
    np.testing.assert_allclose(f(a, b), tg.function([x, w], y, mode=tg.Mode(linker="py"))(a, b), rtol=1e-4, atol=1e-4)
    code = f"""
import json, termgraph as tg, termgraph.tensor as T
from termgraph.backends.cuda.run import cudnn
from termgraph.compile import conv_timing
conv_timing._seconds = None  # nothing may be timed
x = T.tensor("x", dtype="float32", shape={x.type.shape})
w = T.tensor("w", dtype="float32", shape={w.type.shape})
f = tg.function([x, w], T.nnet.conv2d(x, w, border_mode="half") + 1, mode=tg.Mode(linker="c"))
print(json.dumps([r.rule for r in f.trace]))
"""
    flags = f"dnn.conv.algo_fwd=time_once,cache.dir={tmp_path}"
    env = {**os.environ, "TERMGRAPH_FLAGS": flags}
    done = subprocess.run([sys.executable, "-c", code], env=env, capture_output=True, text=True, timeout=300)
    assert done.returncode == 0, done.stderr
    rule = {"winograd": "conv_as_winograd", "panels": "conv_by_panels", "gemm": "conv_gemm"}[found.way]
    assert f"{rule}.forward" in json.loads(done.stdout)


def test_ways_of_what_is_not_compiled_in_c(monkeypatch):
    """On a GPU there are our kernels, and the library where it is installed and not excluded."""
    t = layer()[2].term
    assert conv_timing.candidates(t, Options(())) == ["gemm"]
    for missing, ways in (("cuDNN is not installed", ["panels"]), (None, ["cudnn", "panels"])):
        monkeypatch.setattr(cudnn, "why_not", lambda missing=missing: missing)
        assert conv_timing.candidates(t, Options((), backend="cuda")) == ways
        without = Options((), backend="cuda", excluded=("conv_dnn",))
        assert conv_timing.candidates(t, without) == ["panels"]
