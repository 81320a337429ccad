"""What several test files share: arrays of every kind, variables for them, and a comparison with NumPy.

EXAMPLES_TIMES=20 in the environment (with --seed N) tries that many times more examples.
"""

import ctypes
import mmap
import os
import warnings

import numpy as np
from hypothesis import settings
from hypothesis import strategies as st
from hypothesis.extra import numpy as hnp

import termgraph.tensor as T
from termgraph.terms.dtypes import DTYPES as ALL_DTYPES
from termgraph.terms.evaluate import evaluate

DTYPES = tuple(d for d in ALL_DTYPES if d != "bfloat16")  # those of NumPy itself
BOOLS, INTS = ("bool",), tuple(d for d in DTYPES if "int" in d)
FLOATS, COMPLEX = ("float16", "float32", "float64"), ("complex64", "complex128")
REALS = BOOLS + INTS + FLOATS
_times = int(os.environ.get("EXAMPLES_TIMES", "1"))


def quick(examples=40):
    """Hypothesis settings for a test that takes about a second."""
    return settings(max_examples=examples * _times)


def elements(dtype):
    kind = np.dtype(dtype).kind
    if kind == "b":
        return st.booleans()
    if kind in "iu":
        info = np.iinfo(dtype)
        near = st.integers(max(info.min, -6), 6)
        return st.one_of(near, near, near, st.sampled_from([info.min, info.max]))
    special = [0.0, -0.0, 1.0, -1.0, 0.5, np.inf, -np.inf, np.nan]
    reals = st.one_of(st.sampled_from(special), st.integers(-40, 40).map(lambda n: n / 8))
    return reals if kind == "f" else st.builds(complex, reals, reals)


def shapes(min_dims=0, max_dims=3, min_side=0, max_side=4):
    return hnp.array_shapes(min_dims=max(min_dims, 0), max_dims=max_dims, min_side=min_side, max_side=max_side)


def restrided(array, how):
    """The same values behind other strides: backwards, transposed, or every second element."""
    if not array.ndim:
        return np.array(array)  # an array, not a scalar; ascontiguousarray would add a dimension
    if how == 1:
        flipped = tuple(slice(None, None, -1) for _ in array.shape)
        return np.ascontiguousarray(array[flipped])[flipped]
    if how == 2:
        return np.ascontiguousarray(array.T).T
    if how == 3:
        return np.repeat(array, 2, axis=-1)[..., ::2]
    return array


@st.composite
def arrays(draw, dtypes=DTYPES, shape=None, min_dims=0, max_dims=3, min_side=0, max_side=4, finite=False):
    dtype = draw(st.sampled_from(dtypes))
    shape = draw(shapes(min_dims, max_dims, min_side, max_side)) if shape is None else shape
    items = elements(dtype)
    if finite:
        items = items.filter(np.isfinite)
    array = draw(hnp.arrays(dtype, shape, elements=items, fill=st.nothing()))
    return restrided(array, draw(st.integers(0, 3)))


@st.composite
def with_axes(draw, dtypes=DTYPES, single=False, **kwargs):
    """An array and an argument `axis` of a reduction of it."""
    array = draw(arrays(dtypes, **kwargs))
    every = list(range(-array.ndim, array.ndim))
    choices = [st.none()]
    if every:
        choices.append(st.sampled_from(every))
    if every and not single:
        choices.append(st.lists(st.integers(0, array.ndim - 1), unique=True).map(tuple))
    return array, draw(st.one_of(choices))


def rounding(dtype):
    """How far off results of a reduction may be, where that is not the usual."""
    return 2e-2 if dtype == np.float16 else None


def variable_for(array, known=False, name=None):
    """An input for the array: lengths known, or only those equal to 1 (which must be declared to broadcast)."""
    shape = array.shape if known else tuple(1 if n == 1 else None for n in array.shape)
    return T.tensor(name, dtype=array.dtype.name, shape=shape)


def run(build, *values, known=False):
    """The NumPy value of `build(variables...)`; type and value are checked against each other on the way."""
    variables = [variable_for(v, known) for v in values]
    made = build(*variables)
    single = not isinstance(made, (list, tuple))
    outputs = [made] if single else list(made)
    results = evaluate([o.term for o in outputs], dict(zip(variables, values, strict=True)))
    if known:  # everything here is known: the static shape must say so, or at least not lie
        for o, r in zip(outputs, results, strict=True):
            assert all(a in (None, b) for a, b in zip(o.type.shape, r.shape, strict=True))
    return results[0] if single else results


def numpy_says(function, *values):
    with np.errstate(all="ignore"), warnings.catch_warnings():
        warnings.simplefilter("ignore")
        return function(*values)


def tolerance(dtype):
    return {"float16": 4e-3, "float32": 3e-6, "complex64": 3e-6}.get(np.dtype(dtype).name, 1e-12)


def assert_same(got, expected, rtol=None, what=""):
    """Same dtype, shape and values (NaN equal to NaN; floats up to rounding)."""
    expected = np.asarray(expected)
    assert got.dtype == expected.dtype, f"{what}: dtype {got.dtype}, NumPy gives {expected.dtype}"
    assert got.shape == expected.shape, f"{what}: shape {got.shape}, NumPy gives {expected.shape}"
    if rtol == 0 or got.dtype.kind in "biu":
        np.testing.assert_array_equal(got, expected, err_msg=what)
    else:
        rtol = tolerance(got.dtype) if rtol is None else rtol
        np.testing.assert_allclose(got, expected, rtol=rtol, atol=rtol, equal_nan=True, err_msg=what)


def check(ours, numpys, *values, rtol=None, what="", once=False):
    """`ours(variables)` evaluates to `numpys(values)`, with lengths known and unknown."""
    expected = numpy_says(numpys, *values)
    for known in (False,) if once else (False, True):
        got = run(ours, *values, known=known)
        if isinstance(expected, (list, tuple)):
            assert len(got) == len(expected)
            for g, e in zip(got, expected, strict=True):
                assert_same(g, e, rtol, what)
        else:
            assert_same(got, expected, rtol, what)


def wide_of_half(array):
    """Numbers of 16 bits as float32, which NumPy's functions know."""
    return np.asarray(array).astype("float32") if np.asarray(array).dtype.itemsize == 2 else np.asarray(array)


def before_a_closed_page(values):
    """The values where what lies behind them cannot be read."""
    length = -(-values.nbytes // mmap.PAGESIZE) * mmap.PAGESIZE
    room = mmap.mmap(-1, length + mmap.PAGESIZE)
    end = ctypes.addressof(ctypes.c_char.from_buffer(room)) + length
    assert ctypes.CDLL(None).mprotect(ctypes.c_void_p(end), ctypes.c_size_t(mmap.PAGESIZE), 0) == 0
    out = np.frombuffer(room, values.dtype, values.size, length - values.nbytes).reshape(values.shape)
    out[...] = values
    return out
