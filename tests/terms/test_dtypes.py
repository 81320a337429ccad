"""bfloat16 among NumPy's dtypes: how it is promoted and cast, and that its package is asked for in one sentence."""

import subprocess
import sys

import numpy as np
import pytest

from termgraph.terms.dtypes import DTYPES, can_cast, finfo, kind_of, numpy_dtype, promote, working_dtype
from termgraph.terms.types import TensorType

ml_dtypes = pytest.importorskip("ml_dtypes")
BRAIN = np.dtype(ml_dtypes.bfloat16)
WEAKER = [d for d in DTYPES if "int" in d or d == "bool"]


@pytest.mark.parametrize("other", DTYPES)
def test_bfloat16_is_promoted_as_in_jax(other):
    wanted = dict.fromkeys((*WEAKER, "bfloat16"), "bfloat16")
    wanted |= {d: d for d in ("float32", "float64", "complex64", "complex128")} | {"float16": "float32"}
    assert promote(BRAIN, numpy_dtype(other)).name == promote(numpy_dtype(other), BRAIN).name == wanted[other]


def test_python_numbers_are_weak_beside_bfloat16():
    assert [promote(BRAIN, v).name for v in (True, 7, 2.5, 1j)] == ["bfloat16"] * 3 + ["complex64"]
    assert promote(BRAIN, np.dtype("int64"), 1.0, np.dtype("float16")).name == "float32"


def test_without_bfloat16_promotion_is_that_of_numpy():
    names = [d for d in DTYPES if d != "bfloat16"]
    assert all(promote(np.dtype(a), np.dtype(b)) == np.result_type(a, b) for a in names for b in names)
    for how in ("safe", "same_kind"):
        assert all(can_cast(a, b, how) == np.can_cast(a, b, how) for a in names for b in names)


def test_casts_that_lose_nothing_keep_every_number():
    every = np.arange(0x7F81, dtype="uint16").view(BRAIN)  # from 0 to infinity
    for other in DTYPES:
        there = numpy_dtype(other)
        if can_cast(BRAIN, there) and kind_of(other) == "f":
            np.testing.assert_array_equal(every.astype(there).astype(BRAIN).view("uint16"), np.arange(0x7F81))
        if can_cast(there, BRAIN) and kind_of(other) in "iu":
            all_of_them = np.arange(np.iinfo(other).min, np.iinfo(other).max + 1).astype(there)
            np.testing.assert_array_equal(all_of_them.astype(BRAIN).astype(there), all_of_them)
    assert can_cast("float64", BRAIN, "same_kind") and not can_cast(BRAIN, "int64", "same_kind")
    assert not can_cast("float16", BRAIN) and not can_cast(BRAIN, "float16")
    assert not can_cast("complex64", BRAIN, "same_kind")


def test_numbers_that_describe_a_dtype():
    assert kind_of("bfloat16") == TensorType("bfloat16", ()).kind == "f" and kind_of("uint8") == "u"
    assert (float(finfo("bfloat16").eps), float(finfo("float16").eps)) == (2**-7, 2**-10)
    assert working_dtype("bfloat16") == working_dtype("float16") == np.float32
    assert working_dtype("float64") == np.float64 and working_dtype("int8") == np.int8


def test_a_missing_package_is_named():
    code = """
import sys
sys.modules["ml_dtypes"] = None
import numpy as np, termgraph as tg, termgraph.tensor as T
x = T.fvector("x")
assert float(tg.function([x], x.sum())(np.ones(3, "float32"))) == 3.0
try:
    T.cast(x, "bfloat16")
except ImportError as err:
    print(err)
"""
    said = subprocess.run([sys.executable, "-c", code], capture_output=True, text=True, check=True).stdout
    assert said == "the dtype bfloat16 needs the package ml_dtypes: pip install 'termgraph[bfloat16]'\n"
