"""Rules that the prover found wrong, or refused though they are right, with a seed: with it they pass."""

import pytest

from termgraph.db import database
from termgraph.rules.checking.prover import prove_rule

FOUND_BY = {
    "inverses.inverse": 11,
    "reductions.sum_alloc": 12,
    "remainders.common": 13,
    "hyperbolic.cosh_over_sinh": 14,
    "reductions.min_scaled": 19,
    "small_powers.whole": 20,
    "error_functions.erfcx": 23,
}


@pytest.fixture(scope="module")
def rules():
    return {r.name: r for r in database.all_rules()}


@pytest.mark.parametrize("name", FOUND_BY)
def test_rules_pass_with_the_seeds_that_found_them_wrong(rules, name):
    verdict = prove_rule(rules[name], samples=12, seed=FOUND_BY[name])
    assert verdict.trials and verdict.kind != "WRONG" and not verdict.undeclared, str(verdict.details())
