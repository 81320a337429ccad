"""Several devices in one function: what is computed where, and values that go from one to the other."""

import numpy as np
import pytest
from backends.cuda.cudacases import inside, no_emulation

import termgraph as tg
import termgraph.tensor as T
from emucuda.driver import EmulatedDriver, emulated_device, emulation
from termgraph.backends.cuda.driver.base import NoDevice
from termgraph.backends.cuda.run.device import numbered
from termgraph.backends.cuda.run.device_array import DeviceArray, as_device_array

LINKER = "auto"
pytestmark = inside  # the second device is an emulated one
emulated = pytest.mark.skipif(bool(no_emulation), reason=no_emulation or "g++")


@pytest.fixture
def two():
    second = emulated_device(number=1)
    with emulation(None, second) as first, tg.config.change_flags(device="cuda"):
        yield first, second


def two_stacks(rng):
    """Two halves of a model, each with its weights; they meet in the cost."""
    x = T.fmatrix("x")
    wa = tg.shared(rng.standard_normal((5, 3)).astype("float32"), name="wa")
    wb = tg.shared(rng.standard_normal((5, 3)).astype("float32"), name="wb", target="cuda:1")
    a, b = T.tanh(T.dot(x, wa)), T.tanh(T.dot(x.transfer("cuda:1"), wb))
    cost = ((a + b) ** 2).sum()
    ga, gb = tg.grad(cost, [wa, wb])
    return [wa, wb], tg.function([x], [cost, a.sum(0)], updates=[(wa, wa - ga * 0.1), (wb, wb - gb * 0.1)])


@emulated
@pytest.mark.parametrize("direct", [True, False])
def test_a_model_on_two_devices(two, direct, monkeypatch):
    """From device to device, or by way of the host."""
    if not direct:
        monkeypatch.setattr(EmulatedDriver, "copy_across", lambda *_: False)
    ws, step = two_stacks(np.random.default_rng(0))
    with tg.config.change_flags(device="cpu", linker="py"):
        vs, plain = two_stacks(np.random.default_rng(0))
    xs = np.random.default_rng(1).standard_normal((7, 5)).astype("float32")
    places = []
    for _ in range(4):
        for p, q in zip(step(xs), plain(xs)):
            np.testing.assert_allclose(p, q, rtol=1e-4, atol=1e-5)
        places.append([w.container.storage[0].address for w in ws])
    assert [w.container.storage[0].device for w in ws] == list(two) and places[0] == places[3]
    for w, v in zip(ws, vs):
        np.testing.assert_allclose(w.get_value(), v.get_value(), rtol=1e-4, atol=1e-5)
    names = [i.op.name.split(":")[0] for i in step.vm.program.instructions]
    assert names.count("gpu_from_gpu") <= 3 and names.count("host_from_gpu") == 1 and step.on_cpu() == []
    assert all(d.driver.launches for d in two)


@emulated
def test_results_and_arguments_on_another_device(two):
    first, second = two
    x = T.fvector("x")
    f = tg.function([x], [tg.Out(T.exp(x), target="cuda:1"), tg.Out(T.exp(x), target="cuda")])
    there, here = f(np.zeros(3, "float32"))
    assert (there.device, here.device) == (second, first)
    assert there.__dlpack_device__() == (2, 1)
    np.testing.assert_array_equal(tg.function([x], x + 1)(there), [2, 2, 2])  # it is copied to the first
    np.testing.assert_array_equal(there, here)
    assert as_device_array(there) is there and as_device_array(there, first).device is first


@emulated
def test_errors_name_the_line_on_any_device(two):
    x, i = T.fvector("x"), T.lvector("i")
    f = tg.function([x, i], x.transfer("cuda:1")[i] * 2)
    with pytest.raises(IndexError, match=r"(?s)test_cuda_devices.py.*transfer.*9 is out of bounds"):
        f([1, 2], [9])
    assert not two[0].driver.launches and two[1].driver.launches


@emulated
def test_a_loop_on_the_second_device(two):
    x = T.dvector("x")
    out, _ = tg.scan(lambda v: (v * 2, tg.until(v.sum() > 50)), outputs_info=[x.transfer("cuda:1")], n_steps=20)
    np.testing.assert_array_equal(tg.function([x], out[-1])([1.0, 2.0]), [64, 128])
    assert not two[0].driver.launches


def test_targets_are_checked_and_mean_nothing_on_the_cpu():
    x = T.dvector("x")
    y = T.exp(x.transfer("cuda:3")) * 2
    w = tg.shared(np.ones(2), target="cuda:1")
    np.testing.assert_allclose(tg.function([x], [y + w, tg.grad(y.sum(), x)])([0, 0]), [[3, 3], [2, 2]])
    np.testing.assert_allclose(y.eval({x: [0.0]}), [2])
    (moved,) = tg.Rop([y], [x], [T.ones_like(x)])
    np.testing.assert_allclose(moved.eval({x: [0.0]}), [2])
    for wrong in ("gpu", "cuda:x", "cuda:", "cpu:1", 3):
        with pytest.raises(ValueError, match="a target is"):
            x.transfer(wrong)
    with pytest.raises(ValueError, match="come to the CPU by themselves"):
        x.transfer("cpu")
    with pytest.raises(ValueError, match="a target is"):
        tg.shared(np.ones(2), target="gpu0")


@emulated
def test_a_device_that_is_not_there(two, monkeypatch):
    from termgraph.backends.cuda.run import device

    def missing(name, number):
        raise NoDevice(f"device number {number} was asked for")

    monkeypatch.setattr(device, "_open", missing)
    x = T.dvector("x")
    assert numbered(1) is two[1]
    with pytest.raises(RuntimeError, match="device number 7 was asked for"):
        tg.function([x], T.exp(x.transfer("cuda:7")))
    assert isinstance(DeviceArray.of([1.0]), DeviceArray)
