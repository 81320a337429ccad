"""The matrix: every public function has a row, and a share of its cells, by seed, agrees with NumPy and SciPy."""

import warnings

import pytest

from emucuda.build import find_compiler
from matrix import differences
from matrix.public import covered, missing
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
    agree(10**9, linker, request.config.getoption("--seed") or 2, seconds=60)
