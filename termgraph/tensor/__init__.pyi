"""The NumPy-like language, as type checkers see it. Made by scripts/make_stubs.py: do not edit."""

from typing import Any

from termgraph.grad.api import grad as grad
from termgraph.grad.products import hessian as hessian
from termgraph.grad.products import jacobian as jacobian
from termgraph.loops.mapping import apply_along_axis as apply_along_axis
from termgraph.loops.mapping import vectorize as vectorize
from termgraph.tensor import fft as fft
from termgraph.tensor import linalg as linalg
from termgraph.tensor import linalg as nlinalg
from termgraph.tensor import linalg as slinalg
from termgraph.tensor import ndimage as ndimage
from termgraph.tensor import nnet as nnet
from termgraph.tensor import random as random
from termgraph.tensor import signal as signal
from termgraph.tensor import stats as stats
from termgraph.tensor.arranging import apply_over_axes as apply_over_axes
from termgraph.tensor.arranging import block as block
from termgraph.tensor.arranging import packbits as packbits
from termgraph.tensor.arranging import unpackbits as unpackbits
from termgraph.tensor.arranging import vander as vander
from termgraph.tensor.array_api import array as array
from termgraph.tensor.array_api import asarray as asarray
from termgraph.tensor.array_api import astype as astype
from termgraph.tensor.array_api import can_cast as can_cast
from termgraph.tensor.array_api import cumulative_prod as cumulative_prod
from termgraph.tensor.array_api import cumulative_sum as cumulative_sum
from termgraph.tensor.array_api import finfo as finfo
from termgraph.tensor.array_api import iinfo as iinfo
from termgraph.tensor.array_api import isdtype as isdtype
from termgraph.tensor.array_api import promote_types as promote_types
from termgraph.tensor.array_api import result_type as result_type
from termgraph.tensor.assuming import assume as assume
from termgraph.tensor.checks import Assert as Assert
from termgraph.tensor.checks import Assert as _Assert
from termgraph.tensor.checks import CheckAndRaise as CheckAndRaise
from termgraph.tensor.checks import Print as Print
from termgraph.tensor.comparing import array_equal as array_equal
from termgraph.tensor.comparing import array_equiv as array_equiv
from termgraph.tensor.comparing import iscomplex as iscomplex
from termgraph.tensor.comparing import iscomplexobj as iscomplexobj
from termgraph.tensor.comparing import isreal as isreal
from termgraph.tensor.comparing import isrealobj as isrealobj
from termgraph.tensor.constructors import tensor as tensor
from termgraph.tensor.convolution import convolve as convolve
from termgraph.tensor.convolution import correlate as correlate
from termgraph.tensor.creation import alloc as alloc
from termgraph.tensor.creation import arange as arange
from termgraph.tensor.creation import diag as diag
from termgraph.tensor.creation import diagflat as diagflat
from termgraph.tensor.creation import diagonal as diagonal
from termgraph.tensor.creation import diagonal as extract_diag
from termgraph.tensor.creation import empty as empty
from termgraph.tensor.creation import empty_like as empty_like
from termgraph.tensor.creation import eye as eye
from termgraph.tensor.creation import fill_diagonal as fill_diagonal
from termgraph.tensor.creation import full as full
from termgraph.tensor.creation import full_like as full_like
from termgraph.tensor.creation import geomspace as geomspace
from termgraph.tensor.creation import identity as identity
from termgraph.tensor.creation import identity_like as identity_like
from termgraph.tensor.creation import linspace as linspace
from termgraph.tensor.creation import logspace as logspace
from termgraph.tensor.creation import meshgrid as meshgrid
from termgraph.tensor.creation import ones as ones
from termgraph.tensor.creation import ones_like as ones_like
from termgraph.tensor.creation import tri as tri
from termgraph.tensor.creation import tril as tril
from termgraph.tensor.creation import triu as triu
from termgraph.tensor.creation import zeros as zeros
from termgraph.tensor.creation import zeros_like as zeros_like
from termgraph.tensor.einstein import einsum as einsum
from termgraph.tensor.elemwise import angle as angle
from termgraph.tensor.elemwise import betaln as betaln
from termgraph.tensor.elemwise import cast as cast
from termgraph.tensor.elemwise import clip as clip
from termgraph.tensor.elemwise import divmod as divmod
from termgraph.tensor.elemwise import entr as entr
from termgraph.tensor.elemwise import fabs as fabs
from termgraph.tensor.elemwise import float_power as float_power
from termgraph.tensor.elemwise import frexp as frexp
from termgraph.tensor.elemwise import iround as iround
from termgraph.tensor.elemwise import isclose as isclose
from termgraph.tensor.elemwise import isneginf as isneginf
from termgraph.tensor.elemwise import isposinf as isposinf
from termgraph.tensor.elemwise import log_ndtr as log_ndtr
from termgraph.tensor.elemwise import logit as logit
from termgraph.tensor.elemwise import modf as modf
from termgraph.tensor.elemwise import multigammaln as multigammaln
from termgraph.tensor.elemwise import nan_to_num as nan_to_num
from termgraph.tensor.elemwise import ndtr as ndtr
from termgraph.tensor.elemwise import ndtri as ndtri
from termgraph.tensor.elemwise import positive as positive
from termgraph.tensor.elemwise import rel_entr as rel_entr
from termgraph.tensor.elemwise import rint as rint
from termgraph.tensor.elemwise import round as around
from termgraph.tensor.elemwise import round as round
from termgraph.tensor.elemwise import sinc as sinc
from termgraph.tensor.elemwise import spacing as spacing
from termgraph.tensor.graph import ancestors as ancestors
from termgraph.tensor.graph import applies_between as applies_between
from termgraph.tensor.graph import clone as clone
from termgraph.tensor.graph import clone as clone_replace
from termgraph.tensor.graph import equal_computations as equal_computations
from termgraph.tensor.graph import explicit_graph_inputs as explicit_graph_inputs
from termgraph.tensor.graph import graph_inputs as graph_inputs
from termgraph.tensor.grids import Grid as _Grid
from termgraph.tensor.grids import diag_indices as diag_indices
from termgraph.tensor.grids import diag_indices_from as diag_indices_from
from termgraph.tensor.grids import fromfunction as fromfunction
from termgraph.tensor.grids import indices as indices
from termgraph.tensor.grids import ix_ as ix_
from termgraph.tensor.grids import mask_indices as mask_indices
from termgraph.tensor.grids import ravel_multi_index as ravel_multi_index
from termgraph.tensor.grids import tril_indices as tril_indices
from termgraph.tensor.grids import tril_indices_from as tril_indices_from
from termgraph.tensor.grids import triu_indices as triu_indices
from termgraph.tensor.grids import triu_indices_from as triu_indices_from
from termgraph.tensor.grids import unravel_index as unravel_index
from termgraph.tensor.histograms import histogram as histogram
from termgraph.tensor.histograms import histogram2d as histogram2d
from termgraph.tensor.histograms import histogram_bin_edges as histogram_bin_edges
from termgraph.tensor.histograms import histogramdd as histogramdd
from termgraph.tensor.indexing import inc_subtensor as inc_subtensor
from termgraph.tensor.indexing import set_subtensor as set_subtensor
from termgraph.tensor.inserting import append as append
from termgraph.tensor.inserting import delete as delete
from termgraph.tensor.inserting import insert as insert
from termgraph.tensor.inserting import place as place
from termgraph.tensor.inserting import put as put
from termgraph.tensor.inserting import putmask as putmask
from termgraph.tensor.inserting import resize as resize
from termgraph.tensor.inserting import trim_zeros as trim_zeros
from termgraph.tensor.joined import Joined as _Joined
from termgraph.tensor.joining import array_split as array_split
from termgraph.tensor.joining import column_stack as column_stack
from termgraph.tensor.joining import concatenate as concat
from termgraph.tensor.joining import concatenate as concatenate
from termgraph.tensor.joining import dsplit as dsplit
from termgraph.tensor.joining import dstack as dstack
from termgraph.tensor.joining import flip as flip
from termgraph.tensor.joining import fliplr as fliplr
from termgraph.tensor.joining import flipud as flipud
from termgraph.tensor.joining import hsplit as hsplit
from termgraph.tensor.joining import hstack as hstack
from termgraph.tensor.joining import join as join
from termgraph.tensor.joining import repeat as repeat
from termgraph.tensor.joining import roll as roll
from termgraph.tensor.joining import rot90 as rot90
from termgraph.tensor.joining import split as split
from termgraph.tensor.joining import stack as stack
from termgraph.tensor.joining import tile as tile
from termgraph.tensor.joining import unstack as unstack
from termgraph.tensor.joining import vsplit as vsplit
from termgraph.tensor.joining import vstack as vstack
from termgraph.tensor.likes import DTypeLike
from termgraph.tensor.nans import nanargmax as nanargmax
from termgraph.tensor.nans import nanargmin as nanargmin
from termgraph.tensor.nans import nancumprod as nancumprod
from termgraph.tensor.nans import nancumsum as nancumsum
from termgraph.tensor.nans import nanmax as nanmax
from termgraph.tensor.nans import nanmean as nanmean
from termgraph.tensor.nans import nanmin as nanmin
from termgraph.tensor.nans import nanprod as nanprod
from termgraph.tensor.nans import nanstd as nanstd
from termgraph.tensor.nans import nansum as nansum
from termgraph.tensor.nans import nanvar as nanvar
from termgraph.tensor.padding import pad as pad
from termgraph.tensor.placing import transfer as transfer
from termgraph.tensor.polynomials import poly as poly
from termgraph.tensor.polynomials import polyadd as polyadd
from termgraph.tensor.polynomials import polyder as polyder
from termgraph.tensor.polynomials import polydiv as polydiv
from termgraph.tensor.polynomials import polyfit as polyfit
from termgraph.tensor.polynomials import polyint as polyint
from termgraph.tensor.polynomials import polymul as polymul
from termgraph.tensor.polynomials import polysub as polysub
from termgraph.tensor.polynomials import polyval as polyval
from termgraph.tensor.polynomials import roots as roots
from termgraph.tensor.products import batched_dot as batched_dot
from termgraph.tensor.products import batched_tensordot as batched_tensordot
from termgraph.tensor.products import cov as cov
from termgraph.tensor.products import cross as cross
from termgraph.tensor.products import dot as dot
from termgraph.tensor.products import inner as inner
from termgraph.tensor.products import kron as kron
from termgraph.tensor.products import matmul as matmul
from termgraph.tensor.products import matvec as matvec
from termgraph.tensor.products import outer as outer
from termgraph.tensor.products import tensordot as tensordot
from termgraph.tensor.products import trace as trace
from termgraph.tensor.products import vdot as vdot
from termgraph.tensor.products import vecdot as vecdot
from termgraph.tensor.products import vecmat as vecmat
from termgraph.tensor.quantiles import median as median
from termgraph.tensor.quantiles import nanmedian as nanmedian
from termgraph.tensor.quantiles import nanpercentile as nanpercentile
from termgraph.tensor.quantiles import nanquantile as nanquantile
from termgraph.tensor.quantiles import percentile as percentile
from termgraph.tensor.quantiles import quantile as quantile
from termgraph.tensor.reductions import all as all
from termgraph.tensor.reductions import allclose as allclose
from termgraph.tensor.reductions import any as any
from termgraph.tensor.reductions import argmax as argmax
from termgraph.tensor.reductions import argmin as argmin
from termgraph.tensor.reductions import count_nonzero as count_nonzero
from termgraph.tensor.reductions import cumprod as cumprod
from termgraph.tensor.reductions import cumsum as cumsum
from termgraph.tensor.reductions import log_softmax as log_softmax
from termgraph.tensor.reductions import logsumexp as logsumexp
from termgraph.tensor.reductions import max as amax
from termgraph.tensor.reductions import max as max
from termgraph.tensor.reductions import max_and_argmax as max_and_argmax
from termgraph.tensor.reductions import mean as mean
from termgraph.tensor.reductions import min as amin
from termgraph.tensor.reductions import min as min
from termgraph.tensor.reductions import prod as prod
from termgraph.tensor.reductions import ptp as ptp
from termgraph.tensor.reductions import softmax as softmax
from termgraph.tensor.reductions import std as std
from termgraph.tensor.reductions import sum as sum
from termgraph.tensor.reductions import var as var
from termgraph.tensor.running import associative_scan as associative_scan
from termgraph.tensor.running import cummax as cummax
from termgraph.tensor.running import cummin as cummin
from termgraph.tensor.running import logcumsumexp as logcumsumexp
from termgraph.tensor.segments import segment_max as segment_max
from termgraph.tensor.segments import segment_min as segment_min
from termgraph.tensor.segments import segment_prod as segment_prod
from termgraph.tensor.segments import segment_sum as segment_sum
from termgraph.tensor.selecting import argwhere as argwhere
from termgraph.tensor.selecting import choose as choose
from termgraph.tensor.selecting import compress as compress
from termgraph.tensor.selecting import extract as extract
from termgraph.tensor.selecting import flatnonzero as flatnonzero
from termgraph.tensor.selecting import inverse_permutation as inverse_permutation
from termgraph.tensor.selecting import nonzero as nonzero
from termgraph.tensor.selecting import nonzero_values as nonzero_values
from termgraph.tensor.selecting import piecewise as piecewise
from termgraph.tensor.selecting import put_along_axis as put_along_axis
from termgraph.tensor.selecting import select as select
from termgraph.tensor.selecting import take as take
from termgraph.tensor.selecting import take_along_axis as take_along_axis
from termgraph.tensor.selecting import where as where
from termgraph.tensor.sets import intersect1d as intersect1d
from termgraph.tensor.sets import setdiff1d as setdiff1d
from termgraph.tensor.sets import setxor1d as setxor1d
from termgraph.tensor.sets import union1d as union1d
from termgraph.tensor.shaping import addbroadcast as addbroadcast
from termgraph.tensor.shaping import atleast_1d as atleast_1d
from termgraph.tensor.shaping import atleast_2d as atleast_2d
from termgraph.tensor.shaping import atleast_3d as atleast_3d
from termgraph.tensor.shaping import broadcast_arrays as broadcast_arrays
from termgraph.tensor.shaping import broadcast_shape as broadcast_shape
from termgraph.tensor.shaping import broadcast_to as broadcast_to
from termgraph.tensor.shaping import dimshuffle as dimshuffle
from termgraph.tensor.shaping import expand_dims as expand_dims
from termgraph.tensor.shaping import flatten as flatten
from termgraph.tensor.shaping import matrix_transpose as matrix_transpose
from termgraph.tensor.shaping import moveaxis as moveaxis
from termgraph.tensor.shaping import ndim as ndim
from termgraph.tensor.shaping import patternbroadcast as patternbroadcast
from termgraph.tensor.shaping import ravel as ravel
from termgraph.tensor.shaping import reshape as reshape
from termgraph.tensor.shaping import rollaxis as rollaxis
from termgraph.tensor.shaping import shape as shape
from termgraph.tensor.shaping import shape_i as shape_i
from termgraph.tensor.shaping import shape_padaxis as shape_padaxis
from termgraph.tensor.shaping import shape_padleft as shape_padleft
from termgraph.tensor.shaping import shape_padright as shape_padright
from termgraph.tensor.shaping import size as size
from termgraph.tensor.shaping import specify_shape as specify_shape
from termgraph.tensor.shaping import squeeze as squeeze
from termgraph.tensor.shaping import swapaxes as swapaxes
from termgraph.tensor.shaping import transpose as permute_dims
from termgraph.tensor.shaping import transpose as transpose
from termgraph.tensor.shaping import unbroadcast as unbroadcast
from termgraph.tensor.sharedvar import SharedVariable as SharedVariable
from termgraph.tensor.sharedvar import TensorSharedVariable as TensorSharedVariable
from termgraph.tensor.sharedvar import shared as shared
from termgraph.tensor.sorting import argpartition as argpartition
from termgraph.tensor.sorting import argsort as argsort
from termgraph.tensor.sorting import argtopk as argtopk
from termgraph.tensor.sorting import bincount as bincount
from termgraph.tensor.sorting import diff as diff
from termgraph.tensor.sorting import digitize as digitize
from termgraph.tensor.sorting import ediff1d as ediff1d
from termgraph.tensor.sorting import interp as interp
from termgraph.tensor.sorting import isin as isin
from termgraph.tensor.sorting import lexsort as lexsort
from termgraph.tensor.sorting import one_hot as one_hot
from termgraph.tensor.sorting import one_hot as to_one_hot
from termgraph.tensor.sorting import partition as partition
from termgraph.tensor.sorting import searchsorted as searchsorted
from termgraph.tensor.sorting import sort as sort
from termgraph.tensor.sorting import sort_complex as sort_complex
from termgraph.tensor.sorting import topk as topk
from termgraph.tensor.sorting import topk_and_argtopk as topk_and_argtopk
from termgraph.tensor.sorting import unique as unique
from termgraph.tensor.sorting import unique_all as unique_all
from termgraph.tensor.sorting import unique_counts as unique_counts
from termgraph.tensor.sorting import unique_inverse as unique_inverse
from termgraph.tensor.sorting import unique_values as unique_values
from termgraph.tensor.special import boxcox as boxcox
from termgraph.tensor.special import boxcox1p as boxcox1p
from termgraph.tensor.special import chi2sf as chi2sf
from termgraph.tensor.special import comb as comb
from termgraph.tensor.special import factorial as factorial
from termgraph.tensor.special import gammal as gammal
from termgraph.tensor.special import gammau as gammau
from termgraph.tensor.special import kn as kn
from termgraph.tensor.special import lambertw as lambertw
from termgraph.tensor.special import loggamma as loggamma
from termgraph.tensor.special import sici as sici
from termgraph.tensor.special import tri_gamma as tri_gamma
from termgraph.tensor.statistics import average as average
from termgraph.tensor.statistics import corrcoef as corrcoef
from termgraph.tensor.statistics import gradient as gradient
from termgraph.tensor.statistics import trapezoid as trapezoid
from termgraph.tensor.testvalues import get_test_value as get_test_value
from termgraph.tensor.typed import ArrayLike as ArrayLike
from termgraph.tensor.updates import OrderedUpdates as OrderedUpdates
from termgraph.tensor.userop import as_op as as_op
from termgraph.tensor.variable import Apply as Apply
from termgraph.tensor.variable import Constant as Constant
from termgraph.tensor.variable import TensorConstant as TensorConstant
from termgraph.tensor.variable import TensorVariable as TensorVariable
from termgraph.tensor.variable import Variable as Variable
from termgraph.tensor.windows import bartlett as bartlett
from termgraph.tensor.windows import blackman as blackman
from termgraph.tensor.windows import hamming as hamming
from termgraph.tensor.windows import hanning as hanning
from termgraph.tensor.windows import kaiser as kaiser
from termgraph.tensor.windows import unwrap as unwrap
from termgraph.tensor.wrap import as_tensor as as_tensor
from termgraph.tensor.wrap import as_tensor as as_tensor_variable
from termgraph.tensor.wrap import constant as constant
from termgraph.terms.ops.elementwise import ElementwiseOp
from termgraph.terms.types import TensorType as TensorType
class _Unary(ElementwiseOp):
    def __call__(self, x: ArrayLike, /, **params: Any) -> TensorVariable: ...

class _Binary(ElementwiseOp):
    def __call__(self, x: ArrayLike, y: ArrayLike, /, **params: Any) -> TensorVariable: ...

class _Ternary(ElementwiseOp):
    def __call__(
        self, x: ArrayLike, y: ArrayLike, z: ArrayLike, /, **params: Any
    ) -> TensorVariable: ...

class _Nary(ElementwiseOp):
    def __call__(self, *xs: ArrayLike, **params: Any) -> TensorVariable: ...

class _MakesAny:
    def __call__(self, name: str | None = None, dtype: DTypeLike = None) -> TensorVariable: ...

class _MakesSeveral:
    def __call__(self, *names: str | int) -> list[TensorVariable]: ...

class _MakesInput(TensorType):
    def __call__(self, name: str | None = None) -> TensorVariable: ...

abs: _Unary
abs_: _Unary
absolute: _Unary
acos: _Unary
acosh: _Unary
add: _Nary
and_: _Nary
arccos: _Unary
arccosh: _Unary
arcsin: _Unary
arcsinh: _Unary
arctan: _Unary
arctan2: _Binary
arctanh: _Unary
asin: _Unary
asinh: _Unary
assert_op: _Assert
atan: _Unary
atan2: _Binary
atanh: _Unary
bcol: _MakesInput
bcols: _MakesSeveral
beta: _Binary
betainc: _Ternary
betaincinv: _Ternary
bfloat16: str
binom: _Binary
bitwise_and: _Nary
bitwise_count: _Unary
bitwise_invert: _Unary
bitwise_left_shift: _Binary
bitwise_not: _Unary
bitwise_or: _Nary
bitwise_right_shift: _Binary
bitwise_xor: _Nary
bmatrices: _MakesSeveral
bmatrix: _MakesInput
bool: str
brow: _MakesInput
brows: _MakesSeveral
bscalar: _MakesInput
bscalars: _MakesSeveral
btensor3: _MakesInput
btensor3s: _MakesSeveral
btensor4: _MakesInput
btensor4s: _MakesSeveral
btensor5: _MakesInput
btensor5s: _MakesSeveral
btensor6: _MakesInput
btensor6s: _MakesSeveral
btensor7: _MakesInput
btensor7s: _MakesSeveral
bvector: _MakesInput
bvectors: _MakesSeveral
c_: _Joined
cbrt: _Unary
ccol: _MakesInput
ccols: _MakesSeveral
ceil: _Unary
cmatrices: _MakesSeveral
cmatrix: _MakesInput
col: _MakesAny
cols: _MakesSeveral
complex: _Binary
complex128: str
complex64: str
conj: _Unary
conjugate: _Unary
copysign: _Binary
cos: _Unary
cosh: _Unary
cosint: _Unary
crow: _MakesInput
crows: _MakesSeveral
cscalar: _MakesInput
cscalars: _MakesSeveral
ctensor3: _MakesInput
ctensor3s: _MakesSeveral
ctensor4: _MakesInput
ctensor4s: _MakesSeveral
ctensor5: _MakesInput
ctensor5s: _MakesSeveral
ctensor6: _MakesInput
ctensor6s: _MakesSeveral
ctensor7: _MakesInput
ctensor7s: _MakesSeveral
cvector: _MakesInput
cvectors: _MakesSeveral
dawsn: _Unary
dcol: _MakesInput
dcols: _MakesSeveral
deg2rad: _Unary
degrees: _Unary
digamma: _Unary
divide: _Binary
dmatrices: _MakesSeveral
dmatrix: _MakesInput
drow: _MakesInput
drows: _MakesSeveral
dscalar: _MakesInput
dscalars: _MakesSeveral
dtensor3: _MakesInput
dtensor3s: _MakesSeveral
dtensor4: _MakesInput
dtensor4s: _MakesSeveral
dtensor5: _MakesInput
dtensor5s: _MakesSeveral
dtensor6: _MakesInput
dtensor6s: _MakesSeveral
dtensor7: _MakesInput
dtensor7s: _MakesSeveral
dvector: _MakesInput
dvectors: _MakesSeveral
e: float
eq: _Binary
equal: _Binary
erf: _Unary
erfc: _Unary
erfcinv: _Unary
erfcx: _Unary
erfinv: _Unary
euler_gamma: float
exp: _Unary
exp1: _Unary
exp2: _Unary
expi: _Unary
expit: _Unary
expm1: _Unary
expn: _Binary
fcol: _MakesInput
fcols: _MakesSeveral
fix: _Unary
float16: str
float32: str
float64: str
floor: _Unary
floor_div: _Binary
floor_divide: _Binary
fma: _Ternary
fmatrices: _MakesSeveral
fmatrix: _MakesInput
fmax: _Binary
fmin: _Binary
fmod: _Binary
frexp_exponent: _Unary
frexp_mantissa: _Unary
frow: _MakesInput
frows: _MakesSeveral
fscalar: _MakesInput
fscalars: _MakesSeveral
ftensor3: _MakesInput
ftensor3s: _MakesSeveral
ftensor4: _MakesInput
ftensor4s: _MakesSeveral
ftensor5: _MakesInput
ftensor5s: _MakesSeveral
ftensor6: _MakesInput
ftensor6s: _MakesSeveral
ftensor7: _MakesInput
ftensor7s: _MakesSeveral
fvector: _MakesInput
fvectors: _MakesSeveral
gamma: _Unary
gammainc: _Binary
gammaincc: _Binary
gammainccinv: _Binary
gammaincinv: _Binary
gammaln: _Unary
gcd: _Binary
ge: _Binary
greater: _Binary
greater_equal: _Binary
gt: _Binary
heaviside: _Binary
hyp1f1: _Ternary
hyp2f1: _Nary
hypot: _Binary
i0: _Unary
i0e: _Unary
i1: _Unary
i1e: _Unary
icol: _MakesInput
icols: _MakesSeveral
imag: _Unary
imatrices: _MakesSeveral
imatrix: _MakesInput
inf: float
int16: str
int32: str
int64: str
int8: str
int_div: _Binary
invert: _Unary
irow: _MakesInput
irows: _MakesSeveral
iscalar: _MakesInput
iscalars: _MakesSeveral
isfinite: _Unary
isinf: _Unary
isnan: _Unary
itensor3: _MakesInput
itensor3s: _MakesSeveral
itensor4: _MakesInput
itensor4s: _MakesSeveral
itensor5: _MakesInput
itensor5s: _MakesSeveral
itensor6: _MakesInput
itensor6s: _MakesSeveral
itensor7: _MakesInput
itensor7s: _MakesSeveral
iv: _Binary
ive: _Binary
ivector: _MakesInput
ivectors: _MakesSeveral
j0: _Unary
j1: _Unary
jv: _Binary
kv: _Binary
kve: _Binary
lcm: _Binary
lcol: _MakesInput
lcols: _MakesSeveral
ldexp: _Binary
le: _Binary
left_shift: _Binary
less: _Binary
less_equal: _Binary
lmatrices: _MakesSeveral
lmatrix: _MakesInput
log: _Unary
log10: _Unary
log1mexp: _Unary
log1p: _Unary
log1pexp: _Unary
log2: _Unary
logaddexp: _Binary
logaddexp2: _Binary
logical_and: _Nary
logical_not: _Unary
logical_or: _Nary
logical_xor: _Binary
lrow: _MakesInput
lrows: _MakesSeveral
lscalar: _MakesInput
lscalars: _MakesSeveral
lt: _Binary
ltensor3: _MakesInput
ltensor3s: _MakesSeveral
ltensor4: _MakesInput
ltensor4s: _MakesSeveral
ltensor5: _MakesInput
ltensor5s: _MakesSeveral
ltensor6: _MakesInput
ltensor6s: _MakesSeveral
ltensor7: _MakesInput
ltensor7s: _MakesSeveral
lvector: _MakesInput
lvectors: _MakesSeveral
matrices: _MakesSeveral
matrix: _MakesAny
maximum: _Nary
mgrid: _Grid
minimum: _Nary
mod: _Binary
mul: _Nary
multiply: _Nary
nan: float
neg: _Unary
negative: _Unary
neq: _Binary
newaxis: None
nextafter: _Binary
not_equal: _Binary
ogrid: _Grid
or_: _Nary
owens_t: _Binary
pi: float
poch: _Binary
polygamma: _Binary
pow: _Binary
power: _Binary
psi: _Unary
r_: _Joined
rad2deg: _Unary
radians: _Unary
real: _Unary
reciprocal: _Unary
remainder: _Binary
right_shift: _Binary
round_half_to_even: _Unary
row: _MakesAny
rows: _MakesSeveral
scalar: _MakesAny
scalars: _MakesSeveral
sgn: _Unary
sigmoid: _Unary
sign: _Unary
signbit: _Unary
sin: _Unary
sinh: _Unary
sinint: _Unary
softplus: _Unary
spence: _Unary
sqr: _Unary
sqrt: _Unary
square: _Unary
sub: _Binary
subtract: _Binary
switch: _Ternary
tan: _Unary
tanh: _Unary
tensor3: _MakesAny
tensor3s: _MakesSeveral
tensor4: _MakesAny
tensor4s: _MakesSeveral
tensor5: _MakesAny
tensor5s: _MakesSeveral
tensor6: _MakesAny
tensor6s: _MakesSeveral
tensor7: _MakesAny
tensor7s: _MakesSeveral
true_div: _Binary
true_divide: _Binary
trunc: _Unary
uint16: str
uint32: str
uint64: str
uint8: str
vector: _MakesAny
vectors: _MakesSeveral
wcol: _MakesInput
wcols: _MakesSeveral
wmatrices: _MakesSeveral
wmatrix: _MakesInput
wrow: _MakesInput
wrows: _MakesSeveral
wscalar: _MakesInput
wscalars: _MakesSeveral
wtensor3: _MakesInput
wtensor3s: _MakesSeveral
wtensor4: _MakesInput
wtensor4s: _MakesSeveral
wtensor5: _MakesInput
wtensor5s: _MakesSeveral
wtensor6: _MakesInput
wtensor6s: _MakesSeveral
wtensor7: _MakesInput
wtensor7s: _MakesSeveral
wvector: _MakesInput
wvectors: _MakesSeveral
xlog1py: _Binary
xlogy: _Binary
xor: _Nary
zcol: _MakesInput
zcols: _MakesSeveral
zeta: _Binary
zmatrices: _MakesSeveral
zmatrix: _MakesInput
zrow: _MakesInput
zrows: _MakesSeveral
zscalar: _MakesInput
zscalars: _MakesSeveral
ztensor3: _MakesInput
ztensor3s: _MakesSeveral
ztensor4: _MakesInput
ztensor4s: _MakesSeveral
ztensor5: _MakesInput
ztensor5s: _MakesSeveral
ztensor6: _MakesInput
ztensor6s: _MakesSeveral
ztensor7: _MakesInput
ztensor7s: _MakesSeveral
zvector: _MakesInput
zvectors: _MakesSeveral
