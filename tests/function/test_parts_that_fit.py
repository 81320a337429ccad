"""What a join demands of its parts is asked in every mode, also where rules take the join away."""

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph.terms.errors import ShapeError

LINKER = "auto"
READ = {
    "sum": lambda x, y: T.concatenate([x, y]).sum(),
    "mean of three": lambda x, y: T.concatenate([x, y, x]).mean(),
    "sum along the other axis": lambda x, y: T.concatenate([x, y], axis=1).sum(),
    "sum over stacks": lambda x, y: T.stack([x, y]).sum(axis=0),
    "sum over both axes of stacks": lambda x, y: T.stack([x, 2 * y]).sum(axis=(0, 1)),
    "blocks": lambda x, y: T.block([[x, y], [y, x]]).sum(),
    "the first of a stack": lambda x, y: T.stack([x, y])[0],
    "the last of a stack": lambda x, y: T.stack([x, T.exp(y)])[-1].sum(),
    "sorted": lambda x, y: T.sort(T.concatenate([x, y]), axis=0).sum(),
    "variance": lambda x, y: T.stack([x, y]).var(axis=0),
    "norm": lambda x, y: T.concatenate([x, y]).norm(2),
}
MODES = {
    "compiled": "FAST_RUN",
    "virtual machine": tg.Mode(linker="py"),
    "quick": "FAST_COMPILE",
    "strict": "STRICT",
    "no rules": tg.Mode(optimizer="None", linker="py"),
}


@pytest.mark.parametrize("mode", MODES)
def test_parts_of_other_lengths_are_refused_in_every_mode(mode):
    x, y = T.dmatrices("x", "y")
    for name, read in READ.items():
        f = tg.function([x, y], read(x, y), mode=MODES[mode])
        f(np.ones((2, 2)), np.ones((2, 2)))
        with pytest.raises(ShapeError, match=r"part \d has length|all other|shape|blocks"):
            f(np.ones((2, 3)), np.ones((3, 2)))
            pytest.fail(name)


def test_the_message_names_the_part_and_the_line():
    x, y = T.dmatrices("x", "y")
    f = tg.function([x, y], T.concatenate([x, y]).sum())
    with pytest.raises(ShapeError, match=r"(?s)test_parts_that_fit.py.*part 1 has length 4 in dimension 1, another"):
        f(np.ones((2, 3)), np.ones((2, 4)))


def test_parts_that_are_known_to_fit_are_not_asked():
    x, y = T.dmatrix("x"), T.tensor("y", dtype="float64", shape=(5, 3))
    known = T.concatenate([T.tanh(x), x[:2], 2 * x]).sum(), T.concatenate([y, T.exp(y)]).sum()
    for cost in known:
        assert "specify_shape" not in str(tg.rewrite(cost, "+fast_run").term)
