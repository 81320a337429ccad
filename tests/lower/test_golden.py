"""The C text of a few kernels, to be read as code: tests/lower/golden. After a change that is meant:

python tests/lower/test_golden.py
"""

from pathlib import Path

import pytest

from termgraph.backends.c.generate import generate
from termgraph.terms.ops import elementwise as ew
from termgraph.terms.ops import linalg as la
from termgraph.terms.ops import reduce as red
from termgraph.terms.ops import shaping as sh
from termgraph.terms.ops.basic import dimshuffle
from termgraph.terms.term import Arg, mk
from termgraph.terms.types import TensorType

FOLDER = Path(__file__).with_name("golden")


def arg(i, ndim, dtype="float64"):
    return Arg(i, TensorType.of(dtype, (None,) * ndim))


x, y, a, b, v, k = arg(0, 2), arg(1, 2), arg(2, 3), arg(3, 3), arg(4, 1), arg(5, 1, "int64")
bias = mk(dimshuffle.bind(order=("x", "x", 0)), (v,))
KERNELS = {
    "elementwise": [ew.add(ew.mul(2.0, x), ew.mul(ew.sin(y), 3.0))],
    "row_sums": [mk(red.sum_.bind(axis=(1,), dtype="float64"), (ew.mul(x, y),))],
    "row_maxima": [mk(red.max_.bind(axis=(1,)), (arg(0, 2, "float32"),))],
    "column_sums": [mk(red.sum_.bind(axis=(0,), dtype="float64"), (x,))],
    "integer_sums": [mk(red.sum_.bind(axis=(1,), dtype="int64"), (arg(0, 2, "int32"),))],
    "softmax": [mk(red.softmax.bind(axis=(1,)), (x,))],
    "join": [mk(sh.join.bind(axis=0), (v, ew.exp(v)))],
    "batched_product": [ew.maximum(ew.add(mk(la.matmul, (a, b)), bias), 0.0)],
}


def kernels_of(name):
    """The functions of the kernels, without what all programs have."""
    source = generate([x, y, a, b, v, k], KERNELS[name]).source
    start = source.index("static void kernel0")
    return source[start : source.index("TG_EXPORT int tg_plan")].rstrip() + "\n"


@pytest.mark.parametrize("name", KERNELS)
def test_kernel_text(name):
    assert kernels_of(name) == (FOLDER / f"{name}.c").read_text()


if __name__ == "__main__":
    for each in KERNELS:
        (FOLDER / f"{each}.c").write_text(kernels_of(each))
