"""Training in parts: batches, first values, the loop, its progress, and checkpoints that repeat nothing."""

import io

import ml_dtypes
import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as T
from termgraph import train
from termgraph.progress import Line

RNG = np.random.default_rng(0)
X = RNG.normal(size=(50, 3))
Y = X @ [1.0, -2.0, 0.5]


def a_step():
    """A step with an optimizer's state and a random stream: all of it is to be in a checkpoint."""
    x, y = T.dmatrix("x"), T.dvector("y")
    w = tg.shared(np.zeros(3), name="w")
    stream = T.random.RandomStream(3)
    cost = ((x @ w + 0.01 * stream.normal(size=(x.shape[0],)) - y) ** 2).mean()
    return tg.function([x, y], cost, updates=tg.optim.adam(0.1)(cost, [w])), w


def data():
    return train.batches(X, Y, size=16, seed=5)


def test_every_example_is_met_once_in_an_epoch_and_each_order_is_new():
    numbers = train.batches(np.arange(10), size=4)
    first, second = ([n for (part,) in numbers for n in part.tolist()] for _ in range(2))
    assert sorted(first) == sorted(second) == list(range(10)) and first != second
    numbers.epoch = 0
    assert [n for (part,) in numbers for n in part.tolist()] == first
    assert len(train.batches(np.arange(10), size=4, drop_last=True)) == 2
    assert [p.tolist() for (p,) in train.batches([1, 2, 3], size=2, shuffle=False)] == [[1, 2], [3]]


@pytest.mark.parametrize(("arrays", "size", "said"), [(([1], [1, 2]), 1, "one length"), (([1],), 0, "at least 1")])
def test_data_that_does_not_fit(arrays, size, said):
    with pytest.raises(ValueError, match=said):
        train.batches(*arrays, size=size)


@pytest.mark.parametrize(
    "make", [train.glorot_normal, train.he_normal, train.lecun_normal, train.glorot_uniform, train.he_uniform]
)
def test_first_values_have_the_spread_they_say(make):
    variance = {"glorot": 2 / 700, "he": 2 / 300, "lecun": 1 / 300}[make.__name__.partition("_")[0]]
    w = make(np.random.default_rng(0), (300, 400), "float32")
    assert w.dtype == "float32" and abs(w.var() / variance - 1) < 0.03 and abs(w.mean()) < 1e-3
    filters = make(np.random.default_rng(0), (40, 12, 5, 5))
    assert (
        abs(
            filters.var() / {"glorot": 2 / (52 * 25), "he": 2 / 300, "lecun": 1 / 300}[make.__name__.partition("_")[0]]
            - 1
        )
        < 0.05
    )


def test_first_values_of_recurrent_weights():
    w = train.orthogonal(RNG, (4, 6), gain=2.0)
    np.testing.assert_allclose(w @ w.T, 4 * np.eye(4), atol=1e-12)
    with pytest.raises(ValueError, match="start biases with zeros"):
        train.he_normal(RNG, (3,))


def test_a_run_that_is_interrupted_ends_as_one_that_is_not(tmp_path):
    step, w = a_step()
    whole = train.loop(step, data(), epochs=6)
    expected, file = w.get_value(), tmp_path / "résumé.npz"
    step, _ = a_step()
    train.loop(step, data(), epochs=2, checkpoint=file)
    step, w = a_step()
    resumed = train.loop(step, data(), epochs=6, checkpoint=file)
    np.testing.assert_array_equal(w.get_value(), expected)
    assert resumed.costs == whole.costs and [e.number for e in resumed] == list(range(6))
    assert [p.name for p in tmp_path.iterdir()] == [file.name]
    assert train.loop(step, data(), epochs=6, checkpoint=file).costs == whole.costs  # nothing is left to do


def test_a_checkpoint_keeps_dtypes_that_numpy_does_not_have(tmp_path):
    w = tg.shared(np.array([1.5, -2], ml_dtypes.bfloat16), name="w")
    step = tg.function([], w.astype("float64").sum(), updates={w: (w + 1).astype("bfloat16")})
    train.loop(step, [()], epochs=2, checkpoint=tmp_path / "a")
    kept = w.get_value()
    w.set_value(np.zeros(2, ml_dtypes.bfloat16))
    train.loop(step, [()], epochs=2, checkpoint=tmp_path / "a")
    assert w.get_value().dtype == kept.dtype and (w.get_value() == kept).all()


def test_a_damaged_checkpoint_is_refused(tmp_path):
    step = a_step()[0]
    train.loop(step, data(), epochs=1, checkpoint=tmp_path / "a")
    (tmp_path / "a").write_bytes((tmp_path / "a").read_bytes()[:-40])
    with pytest.raises(ValueError, match="cannot be read as a checkpoint"):
        train.loop(step, data(), epochs=2, checkpoint=tmp_path / "a")


def test_a_checkpoint_of_something_else_is_refused(tmp_path):
    step, _ = a_step()
    train.loop(step, data(), epochs=1, checkpoint=tmp_path / "a")
    x, v = T.dmatrix("x"), tg.shared(0.0, name="v")
    other = tg.function([x], (x * v).sum(), updates=[(v, v + 1)])
    with pytest.raises(ValueError, match="of another step"):
        train.loop(other, [(X,)], checkpoint=tmp_path / "a")
    with pytest.raises(TypeError, match="compiled function"):
        train.loop(lambda x: 0.0, [(X,)], checkpoint=tmp_path / "b")


def test_what_goes_wrong_is_said():
    with pytest.raises(FloatingPointError, match="batch 2 of epoch 0 is NaN"):
        train.loop(lambda x: x, [(1.0,), (np.nan,)])
    with pytest.raises(ValueError, match="no batches"):
        train.loop(lambda x: x, iter(()))


def test_training_ends_where_it_is_told_to():
    step, _ = a_step()
    assert len(train.loop(step, data(), epochs=50, on_epoch=lambda e: e.number == 2)) == 3


def test_progress_is_one_line_and_silent_elsewhere(capsys):
    train.loop(lambda x: x, [(1.0,), (3.0,)], epochs=2)
    assert capsys.readouterr() == ("", "")
    train.loop(lambda x: x, [(1.0,), (3.0,)], epochs=2, progress=True)
    shown = capsys.readouterr().err
    assert "epoch 1/2  cost 2 " in shown and shown.count("\n") == 2
    stream = io.StringIO()
    line = Line(stream)
    line.draw("a long text")
    line.end("short")
    assert stream.getvalue() == "\ra long text\rshort      \n"
