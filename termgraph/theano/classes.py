"""Theano's classes of ops, for `isinstance(node.op, T.Elemwise)` and for programs that make ops themselves.

May import the tensor language and `layers`.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import termgraph.tensor as T
from termgraph.grad import marks
from termgraph.loops.ifelse import ifelse
from termgraph.tensor import nnet
from termgraph.tensor.likes import AxisLike, BorderMode, DTypeLike, ShapeLike, TensorLike
from termgraph.tensor.variable import TensorVariable, Variable
from termgraph.terms.op import OPS, Op
from termgraph.theano import extra, language, layers, linear
from termgraph.theano.standins import Made, StandIn, kind_class, op_class, stand_in


def _applies(function: Callable[..., Any]) -> Callable[..., Any]:
    """For classes without parameters that matter: an instance applies the function."""
    return lambda *_, **__: Made(function)


# ---------------------------------------------------------------------- element by element
def _elemwise(scalar_op: Any, inplace_pattern: object = None, name: str | None = None, **_: object) -> Any:
    """The op for whole arrays of an op for numbers; where results are put is decided later, for all ops alike."""
    if isinstance(scalar_op, Op) and not scalar_op.user_made:
        return scalar_op
    return scalar_op.for_arrays(name) if hasattr(scalar_op, "for_arrays") else Made(scalar_op)


Elemwise = kind_class("Elemwise", "elementwise", _elemwise)

# ---------------------------------------------------------------------- reductions
_REDUCE = {"add": T.sum, "mul": T.prod, "maximum": T.max, "minimum": T.min, "and_": T.all, "or_": T.any,
           "bitwise_and": T.all, "bitwise_or": T.any, "xor": None}  # fmt: skip


def _careduce(scalar_op: Op, axis: AxisLike = None, **_: object) -> Made:
    function = _REDUCE.get(getattr(scalar_op, "name", ""))
    if function is None:
        raise NotImplementedError(f"CAReduce of {scalar_op}: there are reductions by {', '.join(_REDUCE)}")
    return Made(lambda x: function(x, axis=axis))


def _reduction(function: Callable[..., Any]) -> Callable[..., Made]:
    def make(axis: AxisLike = None, dtype: DTypeLike = None, acc_dtype: DTypeLike = None, **_: object) -> Made:
        more = {} if dtype is None else {"dtype": dtype}
        return Made(lambda x: function(x, axis=axis, **more))

    return make


CAReduce = op_class("CAReduce", "sum prod max min any all argmax argmin", _careduce)
CAReduceDtype = op_class("CAReduceDtype", "sum prod", _careduce)
Sum = op_class("Sum", "sum", _reduction(T.sum))
Prod = op_class("Prod", "prod", _reduction(T.prod))
ProdWithoutZeros = op_class("ProdWithoutZeros", "")
All = op_class("All", "all", _reduction(T.all))
Any_ = op_class("Any", "any", _reduction(T.any))
MaxAndArgmax = op_class("MaxAndArgmax", "max argmax", lambda axis=None: Made(lambda x: T.max_and_argmax(x, axis)))
Argmax = op_class("Argmax", "argmax", lambda axis=None: Made(lambda x: T.argmax(x, axis)))
Mean = op_class("Mean", "", _reduction(T.mean))


# ---------------------------------------------------------------------- shapes
def _dimshuffle(input_broadcastable: Sequence[bool], new_order: Sequence[Any], inplace: bool = True) -> Made:
    return Made(lambda x: T.dimshuffle(x, *new_order))


def _reshape(ndim: int, name: str | None = None) -> Made:
    return Made(lambda x, shape: T.reshape(x, shape, ndim=ndim))


def _join(view: object = -1) -> Made:
    return Made(lambda axis, *tensors: T.join(axis, *tensors))


def _rebroadcast(*flags: tuple) -> Made:
    on, off = [a for a, b in flags if b], [a for a, b in flags if not b]
    return Made(lambda x: T.unbroadcast(T.addbroadcast(x, *on) if on else x, *off) if off else T.addbroadcast(x, *on))


DimShuffle = op_class("DimShuffle", "dimshuffle", _dimshuffle)
Reshape = op_class("Reshape", "reshape", _reshape)
Flatten = op_class("Flatten", "", lambda ndim=1: Made(lambda x: T.flatten(x, ndim)))
Join = op_class("Join", "join", _join)
Split = op_class("Split", "", lambda n: Made(lambda x, axis, splits: T.split(x, splits, n, axis)))
Alloc = op_class("Alloc", "alloc", _applies(T.alloc))
AllocEmpty = op_class("AllocEmpty", "", lambda dtype: Made(language.allocempty(dtype)))
ARange = op_class("ARange", "arange", lambda dtype: Made(lambda a, b, step=1: T.arange(a, b, step, dtype=dtype)))
Eye = op_class("Eye", "eye", lambda dtype=None: Made(lambda n, m, k: T.eye(n, m, k, dtype=dtype)))
Tri = op_class("Tri", "", lambda dtype=None: Made(lambda n, m, k: T.tri(n, m, k, dtype=dtype)))
Tile = op_class("Tile", "", lambda ndim: Made(lambda x, reps: T.tile(x, reps, ndim)))
Nonzero = op_class("Nonzero", "nonzero", _applies(T.nonzero))
Choose = op_class("Choose", "", lambda mode="raise": Made(lambda a, choices: T.choose(a, choices, mode)))
ExtractDiag = op_class(
    "ExtractDiag",
    "diagonal",
    lambda offset=0, axis1=0, axis2=1, view=False: Made(lambda x: T.diagonal(x, offset, axis1, axis2)),
)
AllocDiag = op_class("AllocDiag", "alloc_diag", lambda offset=0, **_: Made(lambda x: T.diag(x, offset)))
Rebroadcast = op_class("Rebroadcast", "unbroadcast", _rebroadcast)
SpecifyShape = op_class("SpecifyShape", "specify_shape", _applies(T.specify_shape))
Shape = op_class("Shape", "", _applies(lambda x: T.as_tensor(x).shape))
Shape_i = op_class("Shape_i", "shape_i", lambda i: Made(lambda x: T.as_tensor(x).shape[i]))
MakeVector = op_class("MakeVector", "make_vector", lambda dtype="int64": Made(lambda *xs: T.cast(T.stack(xs), dtype)))
TensorFromScalar = op_class("TensorFromScalar", "", _applies(language.tensor_from_scalar))
ScalarFromTensor = op_class("ScalarFromTensor", "", _applies(language.tensor_from_scalar))
Default = op_class("Default", "", _applies(language.default))
PermuteRowElements = op_class("PermuteRowElements", "", _applies(language.permute_row_elements))
ViewOp = op_class("ViewOp", "", _applies(lambda x: x))
DeepCopyOp, OutputGuard, CpuContiguous = (
    op_class(n, "", _applies(lambda x: x)) for n in ("DeepCopyOp", "OutputGuard", "CpuContiguous")
)


# ---------------------------------------------------------------------- indexing
def _subtensor(idx_list: Sequence[Any]) -> Made:
    """An index whose slices may name what stands in for the further inputs of the op, by their types."""

    def apply(x: TensorLike, *values: TensorLike) -> TensorVariable:
        given = iter(values)
        return T.as_tensor(x)[tuple([_filled(entry, given) for entry in idx_list])]

    return Made(apply)


def _filled(entry: int | slice | None, given: Any) -> Any:
    if isinstance(entry, slice):
        return slice(*[_filled(part, given) for part in (entry.start, entry.stop, entry.step)])
    return entry if entry is None or isinstance(entry, int) else next(given)


def _write(x: Variable, y: TensorLike, index: TensorLike, set_instead_of_inc: bool) -> Any:
    return (T.set_subtensor if set_instead_of_inc else T.inc_subtensor)(T.as_tensor(x)[index], y)


Subtensor = op_class("Subtensor", "subtensor", _subtensor)
IncSubtensor = op_class("IncSubtensor", "set_subtensor inc_subtensor")
AdvancedSubtensor1 = op_class("AdvancedSubtensor1", "gather", _applies(lambda x, i: T.as_tensor(x)[i]))
AdvancedSubtensor = op_class("AdvancedSubtensor", "gather", _applies(lambda x, *i: T.as_tensor(x)[i]))
AdvancedBooleanSubtensor = op_class("AdvancedBooleanSubtensor", "", _applies(lambda x, *i: T.as_tensor(x)[i]))
BaseAdvancedSubtensor = op_class("BaseAdvancedSubtensor", "gather")
AdvancedIncSubtensor1 = op_class(
    "AdvancedIncSubtensor1",
    "scatter_set scatter_add",
    lambda inplace=False, set_instead_of_inc=False: Made(lambda x, y, i: _write(x, y, i, set_instead_of_inc)),
)
AdvancedIncSubtensor = op_class(
    "AdvancedIncSubtensor",
    "scatter_set scatter_add",
    lambda inplace=False, set_instead_of_inc=False: Made(lambda x, y, *i: _write(x, y, i, set_instead_of_inc)),
)
AdvancedBooleanIncSubtensor = op_class("AdvancedBooleanIncSubtensor", "")
BaseAdvancedIncSubtensor = op_class("BaseAdvancedIncSubtensor", "scatter_set scatter_add")

# ---------------------------------------------------------------------- products and linear algebra
Dot = op_class("Dot", "dot", _applies(T.dot))
BatchedDot = op_class("BatchedDot", "matmul", _applies(T.batched_dot))
Dot22, Gemm, Gemv, Ger, GemmRelated, Dot22Scalar = (
    op_class(n, "", None) for n in ("Dot22", "Gemm", "Gemv", "Ger", "GemmRelated", "Dot22Scalar")
)
MatrixInverse = op_class("MatrixInverse", "inv", _applies(T.linalg.inv))
MatrixPinv = op_class("MatrixPinv", "pinv", _applies(T.linalg.pinv))
Det = op_class("Det", "det", _applies(T.linalg.det))
Eig = op_class("Eig", "eig", _applies(T.linalg.eig))
Eigh = op_class("Eigh", "eigh", lambda UPLO="L": Made(lambda x: T.linalg.eigh(x, UPLO)))
Eigvalsh = op_class("Eigvalsh", "eigvalsh", lambda lower=True: Made(lambda a, b=None: linear.eigvalsh(a, b, lower)))
QRFull = op_class("QRFull", "qr", lambda mode: Made(lambda x: T.linalg.qr(x, mode)))
QRIncomplete = op_class("QRIncomplete", "qr", lambda mode: Made(lambda x: T.linalg.qr(x, mode)))
SVD = op_class(
    "SVD",
    "svd svdvals",
    lambda full_matrices=True, compute_uv=True: Made(lambda x: T.linalg.svd(x, full_matrices, compute_uv)),
)
TensorInv = op_class("TensorInv", "", lambda ind=2: Made(lambda a: T.linalg.tensorinv(a, ind)))
TensorSolve = op_class("TensorSolve", "", lambda axes=None: Made(lambda a, b: linear.tensorsolve(a, b, axes)))
lstsq_class = op_class("lstsq", "lstsq", _applies(lambda a, b, rcond=None: T.linalg.lstsq(a, b)))
Cholesky = op_class(
    "Cholesky",
    "cholesky",
    lambda lower=True, destructive=False, on_error="raise": Made(lambda x: linear.cholesky(x, lower, on_error)),
)
Solve = op_class(
    "Solve",
    "solve solve_triangular",
    lambda A_structure="general", lower=False, **_: Made(lambda a, b: linear.solve(a, b, A_structure, lower)),
)
Expm = op_class("Expm", "expm", _applies(T.linalg.expm))
CholeskyGrad, EigvalshGrad, EighGrad, ExpmGrad = (
    op_class(n, "") for n in ("CholeskyGrad", "EigvalshGrad", "EighGrad", "ExpmGrad")
)

# ---------------------------------------------------------------------- sorting, counting
SortOp = op_class("SortOp", "sort", lambda kind=None, order=None: Made(lambda x, axis=-1: T.sort(x, axis)))
ArgSortOp = op_class("ArgSortOp", "argsort", lambda kind=None, order=None: Made(lambda x, axis=-1: T.argsort(x, axis)))
TopKOp = op_class(
    "TopKOp",
    "",
    lambda axis=-1, sorted=True, idx_dtype="int64", return_values=True, return_indices=True: Made(
        lambda x, k: T.topk_and_argtopk(x, k, axis, sorted, idx_dtype)
    ),
)
CumOp = op_class(
    "CumOp",
    "cumsum cumprod",
    lambda axis=None, mode="add": Made(lambda x: (T.cumsum if mode == "add" else T.cumprod)(x, axis)),
)
CumsumOp = op_class("CumsumOp", "cumsum", lambda axis=None: Made(lambda x: T.cumsum(x, axis)))
CumprodOp = op_class("CumprodOp", "cumprod", lambda axis=None: Made(lambda x: T.cumprod(x, axis)))
SearchsortedOp = op_class(
    "SearchsortedOp", "searchsorted", lambda side="left": Made(lambda a, v: T.searchsorted(a, v, side))
)
DiffOp = op_class("DiffOp", "", lambda n=1, axis=-1: Made(lambda x: T.diff(x, n, axis)))
RepeatOp = op_class("RepeatOp", "", lambda axis=None: Made(lambda x, r: T.repeat(x, r, axis)))
Bartlett = op_class("Bartlett", "", _applies(language.bartlett))
FillDiagonal = op_class("FillDiagonal", "", _applies(T.fill_diagonal))
FillDiagonalOffset = op_class("FillDiagonalOffset", "", _applies(language.fill_diagonal_offset))
Unique = op_class(
    "Unique",
    "unique unique_all unique_counts unique_inverse",
    lambda return_index=False, return_inverse=False, return_counts=False, axis=None: Made(
        lambda x: T.unique(x, return_index, return_inverse, return_counts, axis)
    ),
)
UnravelIndex = op_class("UnravelIndex", "", lambda order="C": Made(lambda i, dims: extra.unravel_index(i, dims, order)))
RavelMultiIndex = op_class(
    "RavelMultiIndex",
    "",
    lambda mode="raise", order="C": Made(lambda *a: extra.ravel_multi_index(a[:-1], a[-1], mode, order)),
)
RFFTOp, IRFFTOp = op_class("RFFTOp", "rfft"), op_class("IRFFTOp", "irfft")

# ---------------------------------------------------------------------- neural networks
Softmax = op_class("Softmax", "softmax", _applies(layers.softmax))
LogSoftmax = op_class("LogSoftmax", "log_softmax", _applies(layers.logsoftmax))
SoftmaxWithBias = op_class("SoftmaxWithBias", "", _applies(layers.softmax_with_bias))
SoftmaxGrad, CrossentropySoftmax1HotWithBiasDx, CrossentropyCategorical1HotGrad = (
    op_class(n, "") for n in ("SoftmaxGrad", "CrossentropySoftmax1HotWithBiasDx", "CrossentropyCategorical1HotGrad")
)
CrossentropySoftmaxArgmax1HotWithBias = op_class(
    "CrossentropySoftmaxArgmax1HotWithBias", "", _applies(nnet.crossentropy_softmax_argmax_1hot_with_bias)
)
CrossentropyCategorical1Hot = op_class("CrossentropyCategorical1Hot", "", _applies(nnet.crossentropy_categorical_1hot))
Prepend_scalar_constant_to_each_row = op_class(
    "Prepend_scalar_constant_to_each_row",
    "",
    lambda val=0: Made(lambda mat: layers.prepend_scalar_to_each_row(getattr(val, "data", val), mat)),
)
Prepend_scalar_to_each_row = op_class("Prepend_scalar_to_each_row", "", _applies(layers.prepend_scalar_to_each_row))
ScalarSigmoid = op_class("ScalarSigmoid", "sigmoid", lambda *_, **__: T.sigmoid)
ScalarSoftplus = op_class("ScalarSoftplus", "softplus", lambda *_, **__: T.softplus)
ScalarSoftsign = op_class("ScalarSoftsign", "", _applies(nnet.softsign))
UltraFastScalarSigmoid = op_class("UltraFastScalarSigmoid", "", _applies(nnet.ultra_fast_sigmoid))
Images2Neibs = op_class(
    "Images2Neibs", "", lambda mode="valid": Made(lambda x, n, s=None: layers.images2neibs(x, n, s, mode))
)
AbstractBatchNormTrain, AbstractBatchNormInference, AbstractBatchNormTrainGrad, BNComposite = (
    op_class(n, "")
    for n in ("AbstractBatchNormTrain", "AbstractBatchNormInference", "AbstractBatchNormTrainGrad", "BNComposite")
)


# ---------------------------------------------------------------------- pooling
def _pool(ignore_border: bool = False, mode: str = "max", ndim: int = 2, openmp: object = None) -> Made:
    run = layers.pool_2d if ndim == 2 else layers.pool_3d
    return Made(lambda x, ws, stride=None, pad=None: run(x, ws, ignore_border, stride, pad or (0,) * ndim, mode))


Pool = op_class("Pool", "windows", _pool)
PoolGrad, MaxPoolGrad, AveragePoolGrad, DownsampleFactorMaxGradGrad, MaxPoolRop = (
    op_class(n, "") for n in ("PoolGrad", "MaxPoolGrad", "AveragePoolGrad", "DownsampleFactorMaxGradGrad", "MaxPoolRop")
)

# ---------------------------------------------------------------------- convolutions
_CONVOLUTIONS = {"": "AbstractConv2d", "_gradInputs": "AbstractConv2d_gradInputs",
                 "_gradWeights": "AbstractConv2d_gradWeights"}  # fmt: skip


def _conv_class(n: int | None, what: str) -> StandIn:
    """A class of convolutions in n dimensions (None: any): termgraph's ops do not differ by their number."""
    ops = frozenset([_CONVOLUTIONS[what]] if what != "any" else _CONVOLUTIONS.values())

    def holds(op: Any) -> bool:
        stride = getattr(op, "params", {}).get("stride")
        return isinstance(op, Op) and op.family.name in ops and (n is None or stride is None or len(stride) == n)

    def make(
        imshp: ShapeLike = None,
        kshp: ShapeLike = None,
        border_mode: BorderMode = "valid",
        subsample: ShapeLike = None,
        filter_flip: bool = True,
        filter_dilation: ShapeLike = None,
        num_groups: int = 1,
        unshared: bool = False,
        **_: object,
    ) -> Made:
        ones = (1,) * (n or 2)
        how = {
            "border_mode": border_mode, "subsample": subsample or ones, "filter_flip": filter_flip,
            "filter_dilation": filter_dilation or ones, "num_groups": num_groups,
        }  # fmt: skip
        return Made(_convolution(n or 2, what, imshp, kshp, how))

    name = {"any": "BaseAbstractConv"}.get(what, f"AbstractConv{f'{n}d' if n else ''}{what}")
    return stand_in(name, holds, make, f"Convolutions that Theano calls {name}.")


def _convolution(n: int, what: str, imshp: ShapeLike, kshp: ShapeLike, how: dict) -> Callable[..., Any]:
    """The function that a class of convolutions applies: operands first, the shape of what is found last."""
    if what == "":
        run = layers.conv2d if n == 2 else layers.conv3d
        return lambda img, kern: run(img, kern, imshp, kshp, **how)
    if what == "_gradInputs":
        run = layers.conv2d_grad_wrt_inputs if n == 2 else layers.conv3d_grad_wrt_inputs
        return lambda kern, topgrad, shape: run(topgrad, kern, _all(shape, n), **how)
    run = layers.conv2d_grad_wrt_weights if n == 2 else layers.conv3d_grad_wrt_weights
    return lambda img, topgrad, shape, add_bias=False: run(img, topgrad, _all(shape, n), **how)


def _all(shape: Any, n: int) -> list:
    """The lengths of a shape: Theano gives the spatial ones, as a vector."""
    if isinstance(shape, T.TensorVariable):
        known = shape.type.shape[0]
        return [None, None, *[shape[d - n] for d in range(n)]] if known != n else [None, None, *shape]
    return list(shape) if len(shape) > n else [None, None, *shape]


BaseAbstractConv = _conv_class(None, "any")
AbstractConv, AbstractConv_gradInputs, AbstractConv_gradWeights = (_conv_class(None, w) for w in _CONVOLUTIONS)
AbstractConv2d, AbstractConv2d_gradInputs, AbstractConv2d_gradWeights = (_conv_class(2, w) for w in _CONVOLUTIONS)
AbstractConv3d, AbstractConv3d_gradInputs, AbstractConv3d_gradWeights = (_conv_class(3, w) for w in _CONVOLUTIONS)
ConvOp = op_class("ConvOp", "", lambda *_, **__: Made(layers.old_conv2d))
BaseCorrMM, CorrMM, CorrMM_gradWeights, CorrMM_gradInputs = (
    op_class(n, "") for n in ("BaseCorrMM", "CorrMM", "CorrMM_gradWeights", "CorrMM_gradInputs")
)
BaseCorr3dMM, Corr3dMM, Corr3dMM_gradWeights, Corr3dMM_gradInputs = (
    op_class(n, "") for n in ("BaseCorr3dMM", "Corr3dMM", "Corr3dMM_gradWeights", "Corr3dMM_gradInputs")
)


# ---------------------------------------------------------------------- control, checks, gradients' marks
def _if(n_outs: int = 1, as_view: bool = False, gpu: bool = False, name: str | None = None) -> Made:
    def apply(condition: TensorLike, *branches: Any, return_list: bool = False) -> Any:
        made = ifelse(condition, list(branches[:n_outs]), list(branches[n_outs:]), name)
        return made if return_list or n_outs > 1 else made[0]

    return Made(apply)


IfElse = op_class("IfElse", "ifelse", _if)
Scan = op_class("Scan", "loop")
Assert = op_class("Assert", "check", lambda msg="assertion failed": T.Assert(msg))
Print = op_class("Print", "print")
ConsiderConstant, ZeroGrad, UndefinedGrad, DisconnectedGrad = (
    op_class(n, "grad_mark", _applies(f))
    for n, f in (
        ("ConsiderConstant", marks.consider_constant),
        ("ZeroGrad", marks.zero_grad),
        ("UndefinedGrad", marks.undefined_grad),
        ("DisconnectedGrad", marks.disconnected_grad),
    )
)
GradClip = op_class("GradClip", "grad_mark", lambda low, high: Made(lambda x: marks.grad_clip(x, low, high)))
GradScale = op_class("GradScale", "grad_mark", lambda factor: Made(lambda x: marks.grad_scale(x, factor)))

# ---------------------------------------------------------------------- ops for numbers, as `node.op.scalar_op`
_SCALARS = {
    "Add": "add", "Mul": "mul", "Sub": "sub", "TrueDiv": "true_div", "IntDiv": "floor_div", "Mod": "mod", "Pow": "pow",
    "Clip": "clip", "Second": "", "Identity": "", "Cast": "cast", "Abs": "abs", "Sgn": "sign", "Ceil": "ceil",
    "Floor": "floor", "Trunc": "trunc", "RoundHalfToEven": "round", "RoundHalfAwayFromZero": "", "Neg": "neg",
    "Inv": "reciprocal", "Log": "log", "Log2": "log2", "Log10": "log10", "Log1p": "log1p", "Exp": "exp",
    "Exp2": "exp2", "Expm1": "expm1", "Sqr": "sqr", "Sqrt": "sqrt", "Deg2Rad": "deg2rad", "Rad2Deg": "rad2deg",
    "Cos": "cos", "ArcCos": "arccos", "Sin": "sin", "ArcSin": "arcsin", "Tan": "tan", "ArcTan": "arctan",
    "ArcTan2": "arctan2", "Cosh": "cosh", "ArcCosh": "arccosh", "Sinh": "sinh", "ArcSinh": "arcsinh", "Tanh": "tanh",
    "ArcTanh": "arctanh", "Real": "real", "Imag": "imag", "Angle": "", "Complex": "complex",
    "ComplexFromPolar": "", "Conj": "conj",
    "LT": "lt", "GT": "gt", "LE": "le", "GE": "ge", "EQ": "eq", "NEQ": "neq", "IsNan": "isnan", "IsInf": "isinf",
    "Switch": "switch", "OR": "bitwise_or", "XOR": "bitwise_xor", "AND": "bitwise_and", "Invert": "invert",
    "Maximum": "maximum", "Minimum": "minimum", "Erf": "erf", "Erfc": "erfc", "Erfcx": "erfcx", "Erfinv": "erfinv",
    "Erfcinv": "erfcinv", "Gamma": "gamma", "GammaLn": "gammaln", "Psi": "digamma", "TriGamma": "", "Chi2SF": "",
    "GammaU": "", "GammaL": "",
    "GammaInc": "gammainc", "GammaIncC": "gammaincc", "J0": "j0", "J1": "j1", "Jv": "jv", "I0": "i0", "I1": "i1",
    "Iv": "iv",
}  # fmt: skip


def _scalar_maker(op: str) -> Callable[..., Any]:
    """What `scalar.Add(...)` makes: the op itself."""
    return lambda *_, **__: OPS[op]


_SCALAR_CLASSES = {name: op_class(name, op, _scalar_maker(op) if op else None) for name, op in _SCALARS.items()}


def __getattr__(name: str) -> Any:
    if name in _SCALAR_CLASSES:
        return _SCALAR_CLASSES[name]
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
