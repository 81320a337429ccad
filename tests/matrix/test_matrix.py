"""The matrix: every public function has a row, and a share of its cells, by seed, agrees with NumPy and SciPy."""

import warnings

import pytest

import termgraph.tensor as T
from emucuda.build import find_compiler
from matrix import differences
from matrix.public import SPACES, WITHOUT_A_ROW, covered, missing, public
from matrix.runner import run
from matrix.table import ROWS

LINKERS = ["py", "auto", pytest.param("cuda", marks=pytest.mark.skipif(find_compiler() is None, reason="g++"))]


def agree(units, linker, seed, seconds=3600):
    with warnings.catch_warnings():
        warnings.simplefilter("ignore")
        report = run(seconds, seed, linker=linker, limit=units)
    assert report.units and not report.wrong, f"{report}\nagain: python -m tests.matrix --seed {seed} --linker {linker}"


def test_every_public_function_has_a_row():
    assert len(covered()) > 300 and missing() == []


def test_differences_are_documented():
    table = differences.documented()
    assert 0 < len(table) <= differences.AT_MOST and all(table.values())
    assert {name for row in ROWS.values() for name in row.differs} <= set(differences.EXCUSES) <= set(table)


@pytest.mark.parametrize("linker", LINKERS)
def test_a_share_of_the_matrix(linker):
    agree({"py": 300, "auto": 96, "cuda": 12}[linker], linker, 1)


@pytest.mark.slow
@pytest.mark.parametrize("linker", LINKERS)
def test_a_larger_share_of_the_matrix(linker, request):
    budget = request.config.getoption("--budget") or 60
    agree(10**9, linker, request.config.getoption("--seed") or 2, seconds=min(budget, 60))


def test_a_list_is_an_array_wherever_a_variable_may_be():
    """Functions that take variables take lists of numbers, also those that are written with operators."""
    vector, matrix, labels = [0.5, 0.25], [[1.5, 0.5], [0.25, 2.0]], [1, 0]
    operands = ((vector,), (matrix,), (vector, vector), (labels, vector))
    other = ("rot90", "stack", "norm")  # whose second argument is no array
    found = [f for f in SPACES if f != "sparse."]
    functions = [(p + n, f) for p in found for n, f in public(SPACES[p]) if callable(f) and n not in other]
    refused = []
    for name, function in functions:
        for given in operands if name not in WITHOUT_A_ROW else ():
            try:
                function(*map(T.as_tensor, given))
            except Exception:  # what takes no such variables need not take lists
                continue
            try:
                function(*given)
            except Exception as err:
                refused.append((name, given, str(err)))
    assert len(functions) > 300 and refused == []
