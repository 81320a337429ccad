"""Arrays of up to 64 dimensions, NumPy's limit: the glue, the counters of C text and saved files hold them all.

Between 31 and 33 dimensions there were a letter that is no ASCII, a counter of 32 places and a limit of NumPy 1.
"""

from pathlib import Path

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T

RANKS = [31, 32, 33, 64]
BACKWARD = (slice(None, None, -1),)


def _value(rank: int) -> np.ndarray:
    shape = [1] * rank
    shape[0] = shape[rank // 2] = shape[-1] = 2
    return np.arange(8.0).reshape(shape)


@pytest.mark.parametrize("rank", RANKS)
@pytest.mark.parametrize("linker", ["c", "py"])
@pytest.mark.parametrize(
    "made, expected",
    [
        (lambda x: x.T, lambda x: x.T),
        (lambda x: x.T + 1, lambda x: x.T + 1),
        (lambda x: T.moveaxis(x, 0, -1), lambda x: np.moveaxis(x, 0, -1)),
        (lambda x: x[BACKWARD * x.ndim] * 2, lambda x: x[BACKWARD * x.ndim] * 2),
        (lambda x: x.ravel(), lambda x: x.ravel()),
        (lambda x: x.sum(), lambda x: x.sum()),
    ],
    ids=["transposed", "transposed plus one", "moved", "backward", "ravel", "sum"],
)
def test_results(rank, linker, made, expected):
    x = T.TensorType("float64", (None,) * rank)("x")
    value = _value(rank)
    got = tg.function([x], made(x), mode=tg.Mode(linker=linker))(value)
    np.testing.assert_array_equal(got, expected(value), strict=True)


@pytest.mark.parametrize("rank", RANKS[:3])  # of 64, NumPy takes no more index arrays beside the value
@pytest.mark.parametrize("lay", [lambda v: v, lambda v: v.T, lambda v: v[..., ::-1]], ids=["rows", "columns", "back"])
def test_counts(rank, lay):
    x = T.TensorType("float64", (None,) * rank)("x")
    value = lay(_value(rank) % 3)
    got = tg.function([x], [T.flatnonzero(x), x[x > 0], T.argwhere(x)])(value)
    for mine, theirs in zip(got, [np.flatnonzero(value), value[value > 0], np.argwhere(value)], strict=True):
        np.testing.assert_array_equal(mine, theirs, strict=True)


@pytest.mark.parametrize("rank", RANKS)
def test_saved(rank, tmp_path: Path):
    w = tg.shared(_value(rank), "w")
    tg.save(tg.function([], w + 1), tmp_path / "saved.tg")
    np.testing.assert_array_equal(tg.load(tmp_path / "saved.tg")(), _value(rank) + 1, strict=True)
