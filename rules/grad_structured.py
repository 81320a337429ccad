"""Derivatives of systems whose matrix has a structure. Conventions are those of `grad_linalg`."""

from __future__ import annotations

from termgraph.rulelib._formulas_grad_structured import (
    bands_slope, diagonals_slope, hermitian_slope, turned_toeplitz,
)
from termgraph.rules import param, rule, ruleset
from termgraph.terms.ops.derivative import pullback
from termgraph.terms.ops.elementwise import conj
from termgraph.terms.ops.structured import solve_banded, solve_toeplitz, solveh_banded


@ruleset("grad")
def grad_structured(x, y, z, g, a: param, b: param, c: param):
    yield rule("banded",      pullback(solve_banded(x, y, lower=a, upper=b, trans="N", on_error=c), g),
                              (bands_slope(solve_banded(x, y, lower=a, upper=b, trans="N", on_error=c),
                                  solve_banded(x, g, lower=a, upper=b, trans="T", on_error=c), a, b, "N"),
                                  solve_banded(x, g, lower=a, upper=b, trans="T", on_error=c)))
    yield rule("banded_turned", pullback(solve_banded(x, y, lower=a, upper=b, trans="T", on_error=c), g),
                              (bands_slope(solve_banded(x, y, lower=a, upper=b, trans="T", on_error=c),
                                  solve_banded(x, g, lower=a, upper=b, trans="N", on_error=c), a, b, "T"),
                                  solve_banded(x, g, lower=a, upper=b, trans="N", on_error=c)))
    yield rule("hermitian_bands", pullback(solveh_banded(x, y, lower=a, on_error=b), g),
                              (hermitian_slope(x, solveh_banded(x, y, lower=a, on_error=b),
                                  conj(solveh_banded(x, conj(g), lower=a, on_error=b)), a),
                                  conj(solveh_banded(x, conj(g), lower=a, on_error=b))))
    yield rule("toeplitz",    pullback(solve_toeplitz(x, y, z, on_error=a), g),
                              (diagonals_slope(solve_toeplitz(x, y, z, on_error=a), turned_toeplitz(x, y, g, a),
                                      False),
                                  diagonals_slope(solve_toeplitz(x, y, z, on_error=a), turned_toeplitz(x, y, g, a),
                                      True),
                                  turned_toeplitz(x, y, g, a)))
