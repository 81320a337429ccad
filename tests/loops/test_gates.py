"""Recurrent networks whose gates are cut from one wide product, begun from states of any length: one loop in C."""

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T

CUTS = {
    "constant slices": lambda z, h: [z[:, k * 2 : (k + 1) * 2] for k in range(4)],
    "slices by a state's length": lambda z, h: [z[:, k * h.shape[1] : (k + 1) * h.shape[1]] for k in range(4)],
    "split in parts": lambda z, h: T.split(z, 4, axis=1),
    "split by lengths": lambda z, h: T.split(z, [2] * 4, 4, axis=1),
    "reshape": lambda z, h: T.reshape(z, (z.shape[0], 4, -1)).transpose(1, 0, 2),
}


def lstm(cut):
    x, W, h0, c0 = T.dtensor3("x"), T.dmatrix("W"), T.dmatrix("h0"), T.dmatrix("c0")

    def step(row, h, c):
        i, f, o, g = cut(T.concatenate([row, h], axis=1) @ W, h)
        c = T.sigmoid(f) * c + T.sigmoid(i) * T.tanh(g)
        return T.sigmoid(o) * T.tanh(c), c

    (hs, _), _ = tg.scan(step, sequences=x, outputs_info=[h0, c0])
    cost = (hs[-1] ** 2).sum()
    return [x, W, h0, c0], [cost, *tg.grad(cost, [W, h0, c0])]


@pytest.mark.parametrize("cut", CUTS.values(), ids=CUTS)
@pytest.mark.parametrize("mode", ["FAST_RUN", "FAST_COMPILE"])
def test_gates_of_states_of_any_length_are_compiled(cut, mode):
    rng = np.random.default_rng(0)
    inputs, outputs = lstm(cut)
    f = tg.function(inputs, outputs, mode=tg.Mode(optimizer=mode.lower(), linker="c"))
    plain = tg.function(inputs, outputs, mode=tg.Mode(optimizer="None", linker="py"))
    for rows, batch in ((4, 3), (1, 1)):
        values = [rng.normal(size=s) for s in ((rows, batch, 3), (5, 8), (batch, 2), (batch, 2))]
        for got, want in zip(f(*values), plain(*values)):
            np.testing.assert_allclose(got, want, rtol=1e-10, atol=1e-12)


def test_state_of_another_length_is_an_error():
    inputs, outputs = lstm(CUTS["constant slices"])
    f = tg.function(inputs, outputs[0])
    with pytest.raises(ValueError, match="begins with length|do not broadcast|length"):
        f(np.zeros((4, 3, 3)), np.zeros((6, 8)), np.zeros((3, 3)), np.zeros((3, 3)))
