"""Convolutions with filters of one place may be products by cuBLAS: timed beside cuDNN's plans, on their stand-ins."""

import pytest
from backends.cuda.test_cuda_cudnn import USUAL, lines
from backends.cuda.test_cuda_drivers import core, emulated

# What `plans` of the other tests computes becomes layers with filters of one place.
LAYERS = """
image, filters = (3, 4, 5, 3), (6, 4, 1, 1)

def made(dtype, mode=None):
    x, w = T.tensor("x", dtype=dtype, shape=image), T.tensor("w", dtype=dtype, shape=filters)
    y = T.nnet.conv2d(x, w, border_mode="half")
    return [x, w], [y, *tg.grad((y * y).sum(), [x, w]), T.tanh(T.nnet.conv2d(T.tanh(x), w))], mode

"""
PRODUCTS = "['products', 'products', 'products']"


@core
@emulated
def test_products_are_taken_where_they_are_fastest(tmp_path):
    """The record says so to later processes, whatever the times are by then; without timing there are none."""
    assert lines(tmp_path, LAYERS + "plans('float32')", TG_DNN_SLOW="6") == [f"True [4, 4, 0] 3 {PRODUCTS}"]
    again = LAYERS + "plans('float32'); tg.config.cuda.time_convolutions = False; plans('float32')"
    assert lines(tmp_path, again, TG_BLAS_SLOW="1") == [f"True [4, 4, 0] 0 {PRODUCTS}", f"True [4, 4, 0] 0 {USUAL}"]


@core
@emulated
def test_products_are_left_where_they_are_slower(tmp_path):
    """Which of the plans is fastest then, beside a busy processor, is no matter."""
    (found,) = lines(tmp_path, LAYERS + "plans('float32')", TG_BLAS_SLOW="1")
    assert found.startswith("True [4, 4, 0] 3 ['") and "products" not in found


VALUES = """
from termgraph.backends.cuda.run import cudnn_products
device.current().dnn().recommended = lambda p, math: None  # only ours is there, so it is what computes
cudnn_timing.fastest = lambda dnn, usual, engines, exact, places, of, own=(): own and cudnn_timing._housed(dnn, own[0])

def check(dtype, images, channels, count, *lengths):
    conv = T.nnet.conv2d if len(lengths) == 2 else T.nnet.conv3d
    shapes = (images, channels, *lengths), (count, channels, *[1] * len(lengths)), (images, count, *lengths)
    x, w, g = [T.tensor(n, dtype=dtype, shape=s) for n, s in zip("xwg", shapes)]
    y = conv(x, w, algo="cudnn")
    outputs = [y, *tg.grad((y * g).sum(), [x, w])]
    values = [rng.integers(-4, 5, s).astype(dtype) for s in shapes]
    dnn = device.current().dnn()
    before, calls = set(dnn.plans), device.current().blas().calls
    f = tg.function([x, w, g], outputs)
    got = f(*values)
    a, b, c = values[0].reshape(images, channels, -1), values[1].reshape(count, channels), values[2]
    c = c.reshape(images, count, -1)
    wanted = b @ a, b.T @ c, np.einsum("nkp,ncp->kc", c, a)
    right = [np.array_equal(r, v.reshape(r.shape)) for r, v in zip(got, wanted)]
    right += [r.dtype == dtype for r in got]
    again = [r.tobytes() for r in f(*values)] == [r.tobytes() for r in got]
    names = {str(plan) for key, plan in dnn.plans.items() if key not in before}
    print(all(right), again, names, device.current().blas().calls - calls)

"""
SHAPES = [
    ("float32", 3, 4, 6, 5, 3), ("float64", 3, 4, 6, 5, 3), ("float32", 1, 7, 5, 4, 4), ("float32", 4, 1, 3, 2, 5),
    ("float64", 4, 3, 1, 2, 5), ("float32", 5, 2, 3, 1, 1), ("float32", 2, 3, 4, 2, 3, 2), ("float64", 1, 1, 1, 1, 1),
]  # fmt: skip


@core
@emulated
def test_products_are_the_convolutions(tmp_path):
    """Forward, for images and for filters: two products and a sum more, twice, as the second call is the same again."""
    text = VALUES + "".join(f"check({', '.join(map(repr, shape))})\n" for shape in SHAPES)
    assert lines(tmp_path, text) == ["True True {'products'} 8"] * len(SHAPES)


@core
@emulated
@pytest.mark.parametrize("scratch, parts", [(6 * 4 * 4 * 2, 3), (1, 5)])
def test_images_share_little_room(tmp_path, scratch, parts):
    """Products of some images are added up before those of the next ones: the last part is shorter."""
    text = VALUES + f"cudnn_products.SCRATCH = {scratch}\ncheck('float32', 5, 4, 6, 3, 3)\n"
    assert lines(tmp_path, text) == [f"True True {{'products'}} {2 * (2 + 2 * parts)}"]


@core
@emulated
def test_other_convolutions_are_no_products(tmp_path):
    """Halves, which cuBLAS may add further rounded, and filters that move, see zeros, or are in groups."""
    text = """
from termgraph.backends.cuda.run.cudnn_products import products
p = dict(name="conv_taps", dtype="float32", x=(2, 4, 5, 3), w=(6, 4, 1, 1), y=(2, 6, 5, 3), pad=(0, 0), stride=(1, 1),
         groups=1)
others = dict(dtype="float16"), dict(stride=(1, 2)), dict(pad=(1, 0)), dict(groups=2), dict(w=(6, 4, 1, 3))
print([len(products(device.current(), {**p, **other}, "float32")) for other in ({}, *others)])
gpu = device.current()
gpu._libraries["blas"] = None  # not installed
print(products(gpu, p, "float32"))
"""
    assert lines(tmp_path, text) == ["[1, 0, 0, 0, 0, 0]", "[]"]
