"""Where Theano decides otherwise than termgraph, and what its users' programs take for granted: case by case."""

import warnings

import numpy as np
import pytest

import termgraph as tg
import termgraph.tensor as native
import termgraph.theano as theano
import termgraph.theano.tensor as T
from termgraph.theano import gof
from termgraph.theano.tensor.signal import pool


@pytest.mark.parametrize(
    ("make", "cls"),
    [
        (lambda x: x + 1, T.Elemwise), (lambda x: T.exp(x), T.elemwise.Elemwise), (lambda x: x.T, T.DimShuffle),
        (lambda x: x.sum(), T.Sum), (lambda x: x.max(axis=0), T.elemwise.CAReduce), (lambda x: T.dot(x, x), T.Dot),
        (lambda x: x[1:], T.Subtensor), (lambda x: x[[1, 0]], T.AdvancedSubtensor1),
        (lambda x: x.reshape((-1,)), T.Reshape),
        (lambda x: T.inc_subtensor(x[0], 1.0), T.IncSubtensor), (lambda x: T.nnet.softmax(x), T.nnet.Softmax),
        (lambda x: theano.ifelse.ifelse(T.gt(x[0, 0], 0), x, -x), theano.ifelse.IfElse),
        (lambda x: theano.scan(lambda v: v * 2, sequences=x)[0], theano.scan_module.scan_op.Scan),
        (lambda x: T.nlinalg.matrix_inverse(x), T.nlinalg.MatrixInverse), (lambda x: T.sort(x), T.SortOp),
        (lambda x: theano.gradient.disconnected_grad(x), theano.gof.Op),
    ],
)  # fmt: skip
def test_classes_of_ops(make, cls):
    made = make(T.dmatrix("x"))
    assert isinstance(made.owner.op, cls)
    assert not isinstance(made.owner.op, T.nnet.abstract_conv.AbstractConv2d) and not isinstance(made, cls)


def test_members_of_ops():
    x = T.dmatrix("x")
    assert x.T.owner.op.new_order == (1, 0) and (x * x).owner.op.scalar_op == theano.scalar.mul
    assert isinstance(x.sum(axis=1).owner.op.scalar_op, theano.scalar.Add) and x.sum(axis=1).owner.op.axis == (1,)
    assert not hasattr(x.T.owner.op, "scalar_op") and x.type.dtype_specs()[1] == "npy_float64"
    conv = T.nnet.conv2d(T.tensor4(), T.tensor4(), subsample=(2, 2), filter_flip=False).owner.op
    assert conv.subsample == (2, 2) and conv.filter_flip is False and conv.border_mode == "valid"

    class Own(theano.Op):
        __props__ = ("axis",)
        itypes, otypes = [T.dvector], [T.dvector]

        def __init__(self, axis):
            self.axis = axis  # an op's own attribute is not covered by termgraph's

        def perform(self, node, inputs, outputs):
            outputs[0][0] = inputs[0]

    assert Own(3).axis == 3


def test_classes_make_ops():
    x, v = T.dmatrix("x"), T.dvector("v")
    value = np.arange(6.0).reshape(2, 3)
    made = {
        "shuffled": T.DimShuffle((False, False), [1, "x", 0])(x), "softmax": T.nnet.Softmax()(x),
        "total": T.Sum(axis=0)(x), "greatest": T.elemwise.CAReduce(theano.scalar.maximum, axis=1)(x),
        "reshaped": T.Reshape(1)(x, [6]), "part": T.Subtensor([slice(1, None)])(x), "spread": T.Alloc()(1.0, 2, 2),
        "pooled": pool.Pool(ignore_border=True)(T.shape_padleft(x, 2), (2, 3)),
    }  # fmt: skip
    found = dict(zip(made, theano.function([x], list(made.values()))(value)))
    assert found["shuffled"].shape == (3, 1, 2) and np.allclose(found["softmax"].sum(axis=1), 1)
    assert found["greatest"].tolist() == [2, 5] and found["pooled"].item() == 5 and found["part"].shape == (1, 3)
    assert T.nnet.Softmax() == T.nnet.Softmax() and T.Sum(axis=0) != T.Sum(axis=1)
    conv = T.nnet.abstract_conv.AbstractConv2d(border_mode="half", subsample=(1, 1))
    assert isinstance(conv, T.nnet.abstract_conv.AbstractConv2d) and conv(T.tensor4(), T.tensor4()).ndim == 4
    with pytest.raises(NotImplementedError, match="isinstance"):
        T.blas.Gemm(True)(v)


def test_types():
    made = T.TensorType("float32", (np.False_, np.True_), name="col", sparse_grad=True)
    assert (
        made is T.fcol
        and isinstance(made, T.TensorType)
        and T.TensorType("int8", (0, 1)).broadcastable == (False, True)
    )
    assert not isinstance(theano.shared(1.0), T.TensorVariable) and not isinstance(T.constant(1), T.TensorVariable)
    assert isinstance(T.dscalar(), T.TensorVariable) and isinstance(T.dscalar(), native.TensorVariable)
    assert T.constant(1).dtype == "int8" and T.constant(300).dtype == "int16" and T.constant(1.5).dtype == "float32"
    with pytest.raises(T.AsTensorError):
        T.as_tensor_variable("text")
    assert T.discrete_dtypes and "float32" in T.float_dtypes and isinstance(T.int_dtypes, list)


def test_functions_return_what_theanos_do():
    x, state = T.dscalar("x"), theano.shared(0.0)
    assert (
        theano.function([x], [], updates=[(state, x)])(1.0) == [] and theano.function([], updates={state: 2.0})() == []
    )
    g = theano.function([theano.Param(x, default=3.0)], x * 2, mode="FAST_COMPILE", name="g")
    assert g() == 6 and g.name == "g"
    assert g.outputs[0].variable.dtype == "float64" and g.inputs[0].variable.name == "x"


def test_inputs_that_derivatives_do_not_need():
    x, y = T.dvectors("x", "y")
    f = theano.function([x, y], T.grad((x * y).sum(), x))
    assert f([1.0], [2.0]).tolist() == [2.0]
    linear = T.grad((3 * x).sum(), x)
    assert theano.function([x], T.grad(linear.sum() + x.sum(), x))([1.0]).tolist() == [1.0]
    A, B, v = T.dmatrix("A"), T.dmatrix("B"), T.dvector("v")
    assert theano.function([A, B, v], T.Rop(T.dot(v, A), A, B))(np.ones((1, 1)), [[2.0]], [3.0]).tolist() == [6.0]
    with pytest.raises(tg.UnusedInputError):
        theano.function([x, y], T.grad((x**2).sum(), x))


def test_gradients_of_and_by_whole_numbers():
    i, x = T.ivector("i"), T.dvector("x")
    assert theano.function([i, x], T.grad((i * x).sum(), i))([1, 2], [3.0, 4.0]).tolist() == [3, 4]
    assert theano.function([i, x], T.grad(x[i].sum(), i))([0, 0], [3.0]).tolist() == [0, 0]
    g = T.grad(T.argmax(x), x)
    assert g.dtype == "float64" and theano.function([x], g)([1.0, 2.0]).tolist() == [0, 0]
    n = T.iscalar("n")
    assert theano.function([n], T.grad(n, n))(12) == 1 and theano._asarray([1], dtype="floatX").dtype == "float64"
    with pytest.raises(theano.gradient.DisconnectedInputError):
        T.grad(i.sum(), x)


def test_derivatives_come_in_the_form_of_their_arguments():
    x, y = T.dvectors("x", "y")
    cost = (x * y).sum()
    assert isinstance(T.grad(cost, [x, y]), list) and isinstance(T.grad(cost, (x, y)), tuple)
    assert isinstance(T.Lop([x * y], (x, y), [x]), tuple) and isinstance(T.Rop([x * y, x + y], [x], [y]), list)
    assert isinstance(T.Rop(x * y, x, y), T.TensorVariable) and isinstance(T.hessian(cost, (x,)), tuple)
    with pytest.raises(TypeError, match="number or a vector"):
        T.jacobian(T.dmatrix(), x)


def test_softmax_of_a_vector_is_a_row():
    v = T.dvector("v")
    assert T.nnet.softmax(v).broadcastable == (True, False) and native.nnet.softmax(v).ndim == 1
    assert np.allclose(theano.function([v], T.nnet.softmax(v))([0.0, 0.0]), [[0.5, 0.5]])
    with pytest.raises(ValueError, match="dimensions"):
        T.nnet.softmax(T.tensor3())


@pytest.mark.parametrize(
    "how", [{"ds": (2, 2), "ignore_border": True}, {"ws": (2, 2), "stride": (1, 1), "ignore_border": True},
            {"ds": (3, 3), "st": (2, 2), "padding": (1, 1), "ignore_border": True, "mode": "average_exc_pad"},
            {"ws": np.array([2, 2]), "mode": "sum"}]
)  # fmt: skip
def test_old_keywords_of_pooling(how):
    x = T.dtensor4("x")
    values = np.arange(50.0).reshape(1, 2, 5, 5)
    renamed = {{"ds": "ws", "st": "stride", "padding": "pad"}.get(k, k): v for k, v in how.items()}
    renamed["ws"] = tuple(int(n) for n in renamed["ws"])
    got = theano.function([x], pool.pool_2d(x, **how))(values)
    np.testing.assert_array_equal(got, tg.function([x], native.signal.pool_2d(x, **renamed))(values))
    with pytest.raises(ValueError, match="two names of one"):
        pool.pool_2d(x, ws=(2, 2), ds=(2, 2))


def test_batch_normalization():
    rng = np.random.default_rng(0)
    x, gamma, beta, mean, var = T.dmatrix("x"), T.dvector("g"), T.dvector("b"), T.dvector("m"), T.dvector("v")
    out, m, invstd, new_mean, new_var = T.nnet.bn.batch_normalization_train(
        x, gamma, beta, running_mean=mean, running_var=var, running_average_factor=0.5
    )
    f = theano.function([x, gamma, beta, mean, var], [out, m, invstd, new_mean, new_var])
    data, g, b = rng.normal(size=(6, 3)), np.array([1.0, 2.0, 3.0]), np.zeros(3)
    got = f(data, g, b, np.ones(3), np.ones(3))
    scale = 1 / np.sqrt(data.var(axis=0) + 1e-4)
    np.testing.assert_allclose(got[0], (data - data.mean(axis=0)) * scale * g)
    np.testing.assert_allclose(got[3], 0.5 + 0.5 * data.mean(axis=0))
    np.testing.assert_allclose(got[4], 0.5 + 0.5 * data.var(axis=0) * 6 / 5)
    test = T.nnet.bn.batch_normalization_test(T.dtensor4("i"), gamma, beta, mean, var, axes="spatial")
    assert test.ndim == 4
    with pytest.raises(ValueError, match="epsilon"):
        T.nnet.bn.batch_normalization_train(x, gamma, beta, epsilon=0)


def test_neighbourhoods_and_upsampling():
    x = T.dtensor4("x")
    values = np.arange(32.0).reshape(1, 2, 4, 4)
    neibs = T.nnet.neighbours.images2neibs(x, (2, 2))
    back = T.nnet.neighbours.neibs2images(neibs, (2, 2), x.shape)
    rows, again, big = theano.function([x], [neibs, back, T.nnet.abstract_conv.bilinear_upsampling(x, 2)])(values)
    assert rows.shape == (8, 4) and rows[0].tolist() == [0, 1, 4, 5] and rows[1].tolist() == [2, 3, 6, 7]
    np.testing.assert_array_equal(again, values)
    assert big.shape == (1, 2, 8, 8) and big[0, 0, 0].tolist() == [0, 0.5, 1, 1.5, 2, 2.5, 3, 3]


def test_hierarchical_softmax_and_confusion():
    rng = np.random.default_rng(1)
    x, W1, W2 = rng.normal(size=(4, 3)), rng.normal(size=(3, 2)), rng.normal(size=(2, 3, 3))
    X, y = T.dmatrix("x"), T.lvector("y")
    given = (X, 4, 5, 2, 3, W1, np.zeros(2), W2, np.zeros((2, 3)))
    whole, some = theano.function([X, y], [T.nnet.h_softmax(*given), T.nnet.h_softmax(*given, y)])(x, [0, 1, 4, 3])
    np.testing.assert_allclose(some[:, 0], whole[range(4), [0, 1, 4, 3]])
    a, b = T.lvectors("a", "b")
    counts, order = theano.function([a, b], T.nnet.confusion_matrix(a, b))([2, 0, 2, 2, 0, 1], [0, 0, 2, 2, 0, 2])
    assert counts.tolist() == [[2, 0, 0], [0, 0, 1], [1, 0, 2]] and order.tolist() == [0, 1, 2]


def test_walks_and_clones():
    x, w, b = T.dvectors("x", "w", "b")
    y = T.exp(x * w) + b
    assert gof.graph.inputs([y]) == [x, w, b] and gof.graph.ancestors([y])[0] is y
    assert theano.clone(y, replace={b: w}) is not y
    apart = theano.clone(y, share_inputs=False)
    assert not set(gof.graph.inputs([apart])) & {x, w, b} and theano.clone(y, share_inputs=True).owner.inputs[1] is b
    ins, outs = gof.graph.clone([x, w, b], [y])
    assert len(ins) == 3 and gof.graph.inputs(outs) == ins
    assert gof.graph.as_string([x, w, b], [x * w]) == ["mul(x, w)"]
    assert gof.graph.is_same_graph(x + w, x + w) and not gof.graph.is_same_graph(x + w, x * w)
    assert theano.scan_module.scan_utils.equal_computations([x + w], [x + b], [w], [b])


def test_printing():
    x, y = T.dscalars("x", "y")
    assert theano.pp(x + y) == "(x + y)" and theano.pp(T.exp(-x)) == "exp((-x))" and theano.pp(abs(x)) == "|x|"
    assert theano.pp(T.dmatrix("m")[0, 1:]) == "m[0, 1:]" and theano.pp(T.dmatrix("m").T) == "m.T"
    assert theano.printing.debugprint(x + y, file="str").splitlines()[0] == "Elemwise{add,no_inplace} [id A] ''"
    assert theano.printing.debugprint(x * 2, file="str", ids="int").endswith("|TensorConstant{2} [id 2]\n")
    f = theano.function([x], x * 2)
    assert theano.pp(f.maker.fgraph.outputs[0]) in ("(TensorConstant{2.0} * x)", "(x * TensorConstant{2.0})")


def test_a_picture_without_a_tool_is_an_svg_and_says_so(tmp_path, monkeypatch):
    y = T.exp(T.dvector("x"))
    monkeypatch.setenv("PATH", str(tmp_path))
    with pytest.warns(UserWarning, match=r"\.png and \.pdf need Chromium or Chrome.*graph\.svg is written instead"):
        theano.printing.pydotprint(y, outfile=str(tmp_path / "graph.png"), print_output_file=False)
    assert [p.name for p in tmp_path.iterdir()] == ["graph.svg"]
    with pytest.raises(ValueError, match="cannot write"):
        theano.printing.pydotprint(y, outfile=str(tmp_path / "graph.png"), return_image=True)
    theano.printing.pydotprint(y, outfile=str(tmp_path / "other.dot"), print_output_file=False)
    assert (tmp_path / "other.dot").read_text().startswith("digraph")


def test_flags():
    config = theano.config
    assert config.gcc.cxxflags == "" and config.optimizer == "fast_run" and config.scan.allow_gc is False
    with theano.change_flags({"gcc.cxxflags": "-O2"}, floatX="float32", linker="cvm", on_opt_error="raise"):
        assert config.gcc.cxxflags == "-O2" and tg.config.floatX == "float32" and config.linker == "auto"
        assert config.on_opt_error == "raise"
    assert config.gcc.cxxflags == "" and config.on_opt_error == "warn"
    with pytest.raises(AttributeError, match="no flag"):
        config.flaotX
    with pytest.raises((AttributeError, ValueError)):
        config.no_such_flag = 1

    @theano.configparser.change_flags(compute_test_value="raise")
    def inside():
        return config.compute_test_value

    assert inside() == "raise" and config.compute_test_value == "off"
    name = "tests.my_flag"
    theano.configparser.AddConfigVar(name, "mine", theano.configparser.IntParam(3))
    assert config.tests.my_flag == 3
    assert theano.configparser.parse_config_string("a=1,b.c=d") == {"a": "1", "b.c": "d"}


def test_rewritings_are_accepted_and_not_used():
    with pytest.warns(UserWarning, match=r"not used"):

        @T.opt.register_canonicalize
        @gof.local_optimizer([T.exp])
        def local_wrong(node):
            return [node.inputs[0] * 0]

    with pytest.warns(UserWarning, match="not used"):
        gof.PatternSub((T.exp, "x"), "x")
    x = T.dscalar("x")
    assert np.isclose(theano.function([x], T.exp(x))(1.0), np.e) and local_wrong.transform(T.exp(x).owner) is not False


def test_ops_without_a_compiler_run_in_python(monkeypatch):
    from termgraph.theano import ccode

    def none(*_, **__):
        raise ccode.CannotCompile("no compiler")

    monkeypatch.setattr(ccode, "_built", none)

    class Both(theano.Op):
        __props__ = ()
        itypes, otypes = [T.dvector], [T.dvector]

        def perform(self, node, inputs, outputs):
            outputs[0][0] = inputs[0] + 1

        def c_code(self, node, name, inputs, outputs, sub):
            return ""

    class OnlyC(theano.Op):
        __props__ = ()
        itypes, otypes = [T.dvector], [T.dvector]

        def c_code(self, node, name, inputs, outputs, sub):
            return ""

    x = T.dvector("x")
    f = theano.function([x], Both()(x))
    with pytest.warns(UserWarning, match="runs in Python"):
        assert f([1.0]).tolist() == [2.0]
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        f([2.0])
    with pytest.raises(NotImplementedError, match="cannot be compiled here"):
        theano.function([x], OnlyC()(x))([1.0])


def test_lists_and_small_things():
    a, b = T.dscalars("a", "b")
    assert theano.function([a, b], T.stacklists([[a, b], [b, a]]))(1.0, 2.0).tolist() == [[1, 2], [2, 1]]
    assert theano.function([a, b], T.stack(a, b))(1.0, 2.0).tolist() == [1, 2]
    m = T.dmatrix("m")
    value = np.arange(4.0).reshape(2, 2)
    f = theano.function([m], [T.fill(m, 7.0), m.norm(2), T.permute_row_elements(m, [1, 0]),
                              T.tensordot(m, m, axes=1),
                              T.extra_ops.bartlett(5), T.inv(m + 1), T.ceil_intdiv(T.cast(m, "int64"), 2)])  # fmt: skip
    found = f(value)
    assert found[0].tolist() == [[7, 7], [7, 7]] and np.isclose(found[1], np.linalg.norm(value))
    assert found[2].tolist() == [[1, 0], [3, 2]] and np.allclose(found[4], np.bartlett(5))
    assert found[6].tolist() == [[0, 1], [1, 2]]
    assert T.get_vector_length(T.as_tensor_variable([1, 2])) == 2
    with pytest.raises(T.NotScalarConstantError):
        T.get_scalar_constant_value(a)
    with pytest.raises(ValueError, match="not known"):
        T.get_vector_length(T.dvector())


def test_transforms():
    x = T.dmatrix("x")
    value = np.random.default_rng(0).normal(size=(2, 8))
    there = T.fft.rfft(x)
    found, back = theano.function([x], [there, T.fft.irfft(there)])(value)
    want = np.fft.rfft(value)
    np.testing.assert_allclose(found, np.stack([want.real, want.imag], axis=-1), atol=1e-12)
    np.testing.assert_allclose(back, value, atol=1e-12)


def test_c_code_that_runs_is_no_reason_to_warn():
    class Twice(theano.Op):
        __props__ = ()
        itypes, otypes = [T.dvector], [T.dvector]

        def perform(self, node, inputs, outputs):
            raise RuntimeError("the C code runs, not this")

        def c_code(self, node, name, inputs, outputs, sub):
            (x,), (z,) = inputs, outputs
            return f"""Py_XDECREF({z}); {z} = (PyArrayObject *)PyArray_NewCopy({x}, NPY_CORDER); if (!{z}) {sub["fail"]}
            ((double *)PyArray_DATA({z}))[0] *= 2;"""

    x = T.dvector("x")
    with warnings.catch_warnings():
        warnings.simplefilter("error")
        assert theano.function([x], Twice()(x))([2.0, 1.0]).tolist() == [4.0, 1.0]


def test_types_with_an_equality_of_their_own():
    class Named(gof.Type):
        def __init__(self, name):
            self.name = name

        def filter(self, value, strict=False, allow_downcast=None):
            return value

        def __eq__(self, other):
            return isinstance(other, Named) and other.name == self.name

    assert Named("a") == Named("a") and {Named("a"): 1}[Named("a")] == 1 and Named("a") != Named("b")
    made = Named("a")("v")
    assert made.type == Named("a") and theano.function([made], made)("value") == "value"
