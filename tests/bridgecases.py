"""What the tests of the bridge share: the same graph in PyTensor's own mode and in ours."""

import numpy as np
import pytest

pytensor = pytest.importorskip("pytensor", reason="PyTensor is not installed")
pt = pytest.importorskip("pytensor.tensor")

import termgraph.pytensor as bridge  # noqa: E402


def compared(build, values, rtol=1e-10, strict=True):
    """The results in both, and that nothing was called."""
    xs = [pt.tensor(dtype=v.dtype, shape=(None,) * v.ndim) for v in map(np.asarray, values)]
    made = build(*xs)
    made = list(made) if isinstance(made, (list, tuple)) else [made]
    floats = [m for m in made if m.dtype.startswith("float")]
    wrt = [x for x in xs if x.dtype.startswith("float")]
    slopes = []
    if floats and wrt:
        try:
            cost = sum((m**2).sum() for m in floats)
            slopes = pytensor.grad(cost, wrt, disconnected_inputs="ignore")
        except (NotImplementedError, pytensor.gradient.NullTypeGradError, pytensor.graph.utils.MethodNotDefined):
            slopes = []
    given = {"on_unused_input": "ignore", "allow_input_downcast": True}
    mode = pytensor.compile.mode.Mode(
        bridge.TermgraphLinker(strict=strict), pytensor.compile.mode.RewriteDatabaseQuery(include=["minimum_compile"])
    )
    want = pytensor.function(xs, [*made, *slopes], mode="FAST_COMPILE", **given)(*values)
    got = pytensor.function(xs, [*made, *slopes], mode=mode, **given)(*values)
    for w, g in zip(want, got, strict=True):
        assert np.asarray(w).dtype == np.asarray(g).dtype and np.shape(w) == np.shape(g)
        np.testing.assert_allclose(g, w, rtol=rtol, atol=1e-12)
    return got
