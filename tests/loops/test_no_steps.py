"""Loops that make no step: what they stack has no rows, but rows of the right lengths, in every mode."""

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T

MODES = ["FAST_RUN", "FAST_COMPILE", "STRICT", "None", tg.Mode(linker="py"), tg.Mode(optimizer="None", linker="py")]


@pytest.mark.parametrize("mode", MODES, ids=str)
def test_rows_of_a_step_that_solves(mode):
    """Rows of zeros are no matrices that can be solved or decomposed: the lengths of what is stacked came out as 0."""
    covariances, gains = T.dtensor3("covariances"), T.dtensor3("gains")

    def smooth(P, G, m):
        m = T.linalg.solve(P, G @ m)
        return m, T.linalg.cholesky(P)

    (means, factors), _ = tg.scan(smooth, sequences=[covariances, gains], outputs_info=[T.ones(3), None])
    f = tg.function([covariances, gains], [means, factors], mode=mode)
    means, factors = f(np.zeros((0, 3, 3)), np.zeros((0, 3, 3)))
    assert means.shape == (0, 3)
    assert factors.shape == (0, 3, 3)


@pytest.mark.parametrize("mode", MODES, ids=str)
def test_gradient_where_lengths_are_kept_for_each_step(mode):
    """The gradient keeps the length of the carry as a row of each step; a length 0 fits beside no other."""
    first, rows, change = T.dvector("first"), T.dmatrix("rows"), T.dmatrix("change")
    forward, _ = tg.scan(
        lambda row, a: T.logsumexp(a[:, None] + change, axis=0) + row, sequences=rows[1:], outputs_info=first + rows[0]
    )
    last = T.concatenate([(first + rows[0])[None], forward], axis=0)[-1]
    slopes = tg.grad(T.logsumexp(last), [rows, change])
    f = tg.function([first, rows, change], slopes, mode=mode)
    by_rows, by_change = f(np.zeros(3), np.zeros((1, 3)), np.zeros((3, 3)))
    np.testing.assert_allclose(by_rows, np.full((1, 3), 1 / 3))
    np.testing.assert_array_equal(by_change, np.zeros((3, 3)))
