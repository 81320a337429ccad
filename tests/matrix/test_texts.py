"""NVRTC takes the text of every op in every dtype, and of rows of the matrix in some dtype, for old and new GPUs."""

import warnings

import pytest

import matrix.texts as texts
from gpucheck.checks import operations
from termgraph.backends.cuda.build.compile import compiler
from termgraph.backends.cuda.generate import generate
from termgraph.terms.dtypes import DTYPES

pytestmark = pytest.mark.skipif(not str(compiler()).startswith("nvrtc"), reason="NVRTC is not installed")


def agree(units, seed, seconds=3600):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        count, found = texts.refused(seconds, seed, limit=units)
    assert count and not found, "\n".join(found)


@pytest.mark.parametrize("dtype", DTYPES)
def test_every_op(dtype):
    args, terms = operations(dtype)
    found = texts.refusal(generate(args, terms).source)
    assert found is None, found


def test_every_row():
    agree(len({(u.row, u.gradient) for u in texts.order(1)}), 1, seconds=40)


@pytest.mark.slow
def test_more_of_the_matrix(request):
    budget = request.config.getoption("--budget") or 60
    agree(10**9, request.config.getoption("--seed") or 2, seconds=min(budget, 60))


def test_a_refused_text_is_told():
    kernel = 'extern "C" __global__ void f(float *p) { *p = %s; }'
    assert texts.refusal(kernel % "copysignf(*p, 1)") is None
    assert "compute_75" in texts.refusal(kernel % "__builtin_nanf(*p)")
