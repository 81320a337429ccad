"""Complex numbers in order on a GPU, as NumPy has it; signs of floats of 16 bits by their bits."""

import itertools

import numpy as np
import pytest
from backends.cuda.cudacases import no_emulation

import termgraph as tg
import termgraph.tensor as T

LINKER = "auto"
pytestmark = pytest.mark.skipif(bool(no_emulation), reason=no_emulation or "g++")
PARTS = [0.0, -0.0, 1.0, -2.0, np.inf, -np.inf, np.nan]


@pytest.mark.filterwarnings("ignore:invalid value")
@pytest.mark.parametrize("dtype", ["complex64", "complex128"])
def test_all_pairs_of_special_numbers(gpu, dtype):
    x, y = T.vector("x", dtype=dtype), T.vector("y", dtype=dtype)
    names = ["less", "greater", "less_equal", "greater_equal"]
    f = tg.function([x, y], [*[getattr(T, name)(x, y) for name in names], x > 0, T.where(x > y, x, y).real])
    points = np.array([complex(*p) for p in itertools.product(PARTS, PARTS)], dtype)
    a, b = np.repeat(points, len(points)), np.tile(points, len(points))
    found = f(a, b)
    assert not f.on_cpu()
    wanted = [*[getattr(np, name)(a, b) for name in names], a > 0, np.where(a > b, a, b).real]
    for got, numpys in zip(found, wanted, strict=True):
        np.testing.assert_array_equal(got, numpys)


@pytest.mark.filterwarnings("ignore:invalid value")
def test_signs_of_all_floats_of_16_bits(gpu):
    x = T.vector("x", dtype="float16")
    f = tg.function([x], T.sign(x))
    numbers = np.arange(2**16, dtype="uint16").view("float16")
    np.testing.assert_array_equal(f(numbers).view("uint16"), np.sign(numbers).view("uint16"))
    assert not f.on_cpu()
