"""Rules that the prover found wrong, or refused though they are right, with a seed: with it they pass."""

import pytest

from termgraph.db import database
from termgraph.rules.checking.prover import prove_rule

FOUND_BY = {
    "inverses.inverse": 11,
    "reductions.sum_alloc": 12,
    "remainders.common": 13,
    "hyperbolic.cosh_over_sinh": 14,
    "reductions.extreme_scaled": 42,
    "small_powers.whole": 20,
    "error_functions.erfcx": 23,
    "dots.vector_last": 0,
    "dots.vector_first": 0,
    "rearrange.chain": 1,
    # where dtypes meet: uint64 with signed integers, float16, complex64
    "inverses.inverse_complex": 13,
    "negation.plus_minus": 13,
    "negation.minus_plus": 3,
    "negation.mod_mod": 7,
    "remainders.less_multiple": 7,
    "remainders.of_larger": 20,
    "remainders.twice": 3,
    "remainders.of_multiple": 17,
    "trigonometry.double_cos": 6,
    "pooling.after_maximum": 5,
    "differences_of_functions.tanh": 0,
    "roots.hypot": 10,
}


@pytest.fixture(scope="module")
def rules():
    return {r.name: r for r in database.all_rules()}


@pytest.mark.parametrize(("name", "seed"), FOUND_BY.items())
def test_rules_pass_with_the_seeds_that_found_them_wrong(rules, name, seed):
    verdict = prove_rule(rules[name], samples=12, seed=seed)
    assert verdict.trials and verdict.kind != "WRONG" and not verdict.undeclared, str(verdict.details())
