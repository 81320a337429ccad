"""Arguments that a function does not have: the error names the one that was meant, in words of other libraries too."""

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph._arguments import WORDS, suggestion

x = T.dmatrix("x")
MISNAMED = {
    "sum dim axis": lambda: T.sum(x, dim=0),
    "mean keepdim keepdims": lambda: x.mean(axis=0, keepdim=True),
    "softmax dim axis": lambda: T.softmax(x, dim=1),
    "concatenate dim axis": lambda: T.concatenate([x, x], dim=1),
    "std unbiased ddof": lambda: T.std(x, unbiased=False),
    "topk k kth": lambda: T.topk(x, k=2),
    "norm p ord": lambda: T.linalg.norm(x, p=2),
    "conv1d dilation filter_dilation": lambda: T.nnet.conv1d(x[None], x[None], dilation=2),
    "conv2d stride subsample": lambda: T.nnet.conv2d(x[None, None], x[None, None], stride=2),
    "conv2d padding border_mode": lambda: T.nnet.conv2d(x[None, None], x[None, None], padding=1),
    "arange dtyp dtype": lambda: T.arange(5, dtyp="int8"),
    "function update updates": lambda: tg.function([x], x, update={}),
    "scan sequence sequences": lambda: tg.scan(lambda row: row, sequence=x),
    "grad argnums wrt": lambda: tg.grad(x.sum(), argnums=0),
    "adam lr learning_rate": lambda: tg.optim.adam(lr=0.1),
    "cosine_decay step steps": lambda: tg.optim.cosine_decay(0.1, step=3),
    "normal shape size": lambda: T.random.RandomStream(seed=1).normal(shape=(2,)),
    "shared types dtype": lambda: tg.shared(np.ones(2), types="int8"),
}


@pytest.mark.parametrize("case", MISNAMED)
def test_the_argument_that_was_meant_is_named(case):
    function, wrong, right = case.split()
    with pytest.raises(
        TypeError, match=rf"^{function}\(\) has no argument '{wrong}'; write {right}=\. It takes .*{right}"
    ):
        MISNAMED[case]()


def test_what_nothing_is_like_says_what_there_is():
    with pytest.raises(TypeError, match=r"^relu\(\) has no argument 'inplace'; it takes x, alpha=0$"):
        T.nnet.relu(x, inplace=True)


def test_errors_from_within_stay_as_they_are():
    def step(row):
        return row.sum(dim=0) if False else len(row=3)

    with pytest.raises(TypeError, match="len"):
        tg.scan(step, sequences=x)
    with pytest.raises(TypeError, match="missing 1 required positional argument"):
        T.concatenate(axis=1)


def test_words_lead_to_arguments_only():
    assert suggestion("dim", ["x", "axis"]) == "axis" and suggestion("dim", ["x", "shape"]) is None
    assert all(word not in ours for word, ours in WORDS.items())


def test_clip_takes_its_ends_by_both_names():
    f = tg.function([x], [x.clip(min=0), T.clip(x, max=1), x.clip(0, max=1)])
    values = np.array([[-1.0, 0.5, 2.0]])
    for got, want in zip(f(values), (values.clip(0, None), values.clip(None, 1), values.clip(0, 1))):
        np.testing.assert_array_equal(got, want)
    with pytest.raises(TypeError, match="once"):
        T.clip(x, 0, min=0)
