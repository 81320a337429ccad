"""Products of vectors and matrices in the cheapest order, without matrices that are mostly zeros or of rank one, and
sums of products as the matrix products they are."""

from termgraph.rulelib._formulas_lines import as_rows
from termgraph.rules import Inexact, Matrix, Vector, agree, finite, needed_once, param, rule, ruleset, same_rank, this
from termgraph.rules.constant_guards import Unit
from termgraph.rules.shape_facts import cheaper_left, cheaper_right, same_length, single, stored
from termgraph.rules.type_facts import meet_in
from termgraph.terms.ops.basic import dimshuffle
from termgraph.terms.ops.elementwise import sqr
from termgraph.terms.ops.linalg import dot, matmul
from termgraph.terms.ops.reduce import sum_
from termgraph.terms.ops.shaping import alloc_diag, diagonal


@ruleset("specialize")
def dots(x: Matrix, y: Matrix, z: Matrix, u: Vector, v: Vector, w: Vector, e: Unit, g: Inexact & Matrix, d: param):
    # the vector first: two products of a matrix and a vector instead of one of two matrices
    yield rule("vector_last",   dot(dot(x, y), v),                              dot(x, dot(y, v)),
                                meet_in(x, y, this), meet_in(y, v, this), assumes=["finite", "reassoc"])
    yield rule("vector_first",  dot(v, dot(x, y)),                              dot(dot(v, x), y),
                                meet_in(x, y, this), meet_in(v, x, this), assumes=["finite", "reassoc"])
    yield rule("column",        dot(x, dimshuffle(v, order=(0, "x"))),          dimshuffle(dot(x, v), order=(0, "x")),
                                assumes=["reassoc"])
    yield rule("row",           dot(dimshuffle(v, order=("x", 0)), x),          dimshuffle(dot(v, x), order=("x", 0)),
                                assumes=["reassoc"])
    yield rule("right_first",   dot(dot(x, y), z),                              dot(x, dot(y, z)),
                                cheaper_right(x, y, z), meet_in(x, y, this), meet_in(y, z, this),
                                assumes=["finite", "reassoc"])
    yield rule("left_first",    dot(x, dot(y, z)),                              dot(dot(x, y), z),
                                cheaper_left(x, y, z), meet_in(x, y, this), meet_in(y, z, this),
                                assumes=["finite", "reassoc"])
    yield rule("transposes",    dot(dimshuffle(x, order=(1, 0)), dimshuffle(y, order=(1, 0))),
                                dimshuffle(dot(y, x), order=(1, 0)),
                                assumes=["finite", "reassoc"])

    # identities and diagonals
    yield rule("eye_left",      dot(e, x[finite]),                              x, assumes=["signed_zero"])
    yield rule("eye_right",     dot(x[finite], e),                              x, assumes=["signed_zero"])
    yield rule("eye_vector",    dot(e, v[finite]),                              v, assumes=["signed_zero"])
    yield rule("vector_eye",    dot(v[finite], e),                              v, assumes=["signed_zero"])
    yield rule("diag_left",     dot(alloc_diag(v[finite]), x[finite]),          dimshuffle(v, order=(0, "x")) * x,
                                assumes=["reassoc"])
    yield rule("diag_right",    dot(x[finite], alloc_diag(v[finite])),          x * v, assumes=["reassoc"])
    yield rule("diag_vector",   dot(alloc_diag(v[finite]), w[finite]),          v * w, assumes=["reassoc"])
    yield rule("vector_diag",   dot(w[finite], alloc_diag(v[finite])),          w * v, assumes=["reassoc"])
    yield rule("diagonal_gram", diagonal(dot(g, dimshuffle(g, order=(1, 0)))),  sum_(sqr(g), axis=(1,), dtype=g.dtype),
                                assumes=["finite", "reassoc"])
    yield rule("diagonal",      diagonal(dot(g, y[g.dtype])),
                                sum_(g * dimshuffle(y, order=(1, 0)), axis=(1,), dtype=g.dtype),
                                same_length(g, 0, y, 1), assumes=["finite", "reassoc"])

    # matrices of rank one
    yield rule("outer_vector",  dot(dimshuffle(u, order=(0, "x")) * v, w),      u * dot(v, w),
                                meet_in(v, w, this), assumes=["finite", "overflow", "reassoc"])
    yield rule("outer_matrix",  dot(dimshuffle(u, order=(0, "x")) * v[this.dtype], x),
                                dimshuffle(u, order=(0, "x")) * dot(v, x), assumes=["finite", "overflow", "reassoc"])
    yield rule("vector_outer",  dot(w, dimshuffle(u[this.dtype], order=(0, "x")) * v), dot(w, u) * v,
                                assumes=["finite", "overflow", "reassoc"])
    yield rule("matrix_outer",  dot(x, dimshuffle(u[this.dtype], order=(0, "x")) * v),
                                dimshuffle(dot(x, u), order=(0, "x")) * v, assumes=["finite", "overflow", "reassoc"])
    yield rule("column_row",    dot(x, y),                                      x * y,
                                single(x, 1), single(y, 0), assumes=["finite", "reassoc", "signed_zero"])

    # sums of a product of matrices are products with sums
    yield rule("sum_rows",      sum_(dot(x[this.dtype], y)[needed_once], axis=(0,), dtype=d),
                                dot(sum_(x, axis=(0,), dtype=d), y), assumes=["finite", "reassoc"])
    yield rule("sum_columns",   sum_(dot(x, y[this.dtype])[needed_once], axis=(1,), dtype=d),
                                dot(x, sum_(y, axis=(1,), dtype=d)), assumes=["finite", "reassoc"])
    yield rule("sum_all",       sum_(dot(x[this.dtype], y[this.dtype])[needed_once], axis=(0, 1), dtype=d),
                                dot(sum_(x, axis=(0,), dtype=d), sum_(y, axis=(1,), dtype=d)),
                                assumes=["finite", "reassoc"])
    yield rule("sum_vector",    sum_(dot(x[this.dtype], v)[needed_once], axis=(0,), dtype=d),
                                dot(sum_(x, axis=(0,), dtype=d), v), assumes=["finite", "reassoc"])
    yield rule("sum_of_row",    sum_(dot(v, x[this.dtype])[needed_once], axis=(0,), dtype=d),
                                dot(v, sum_(x, axis=(1,), dtype=d)), assumes=["finite", "reassoc"])


@ruleset("specialize")
def sums_of_products(x: Inexact & Matrix, y: Inexact & Matrix, v: Inexact & Vector, w: Inexact & Vector, t: Inexact,
                     s: Inexact, d: param):
    # of stored arrays; what is computed anyway is better summed where it is computed
    yield rule("vectors",       sum_((v[this.dtype, stored] * w[stored])[needed_once], axis=(0,), dtype=d), dot(v, w),
                                agree(v, 0, w, 0), assumes=["finite", "reassoc"])
    yield rule("squares",       sum_(sqr(v[this.dtype, stored]), axis=(0,), dtype=d), dot(v, v),
                                assumes=["finite", "reassoc"])
    yield rule("matrix_vector", sum_((x[this.dtype, stored] * v[stored])[needed_once], axis=(1,), dtype=d), dot(x, v),
                                agree(x, 1, v, 0), assumes=["finite", "reassoc"])
    yield rule("vector_matrix", sum_((x[this.dtype, stored] * dimshuffle(v[stored], order=(0, "x")))[needed_once],
                                     axis=(0,), dtype=d),
                                dot(v, x), agree(x, 0, v, 0), assumes=["finite", "reassoc"])

    # of broadcast arrays: a matrix product, whose terms need not be made one by one
    yield rule("matrices",      sum_(dimshuffle(x[this.dtype], order=(0, 1, "x")) * y, axis=(1,), dtype=d), dot(x, y),
                                agree(x, 1, y, 0), assumes=["finite", "reassoc"])
    yield rule("transposed",    sum_(dimshuffle(x[this.dtype], order=(0, "x", 1)) * y, axis=(2,), dtype=d),
                                dot(x, dimshuffle(y, order=(1, 0))), agree(x, 1, y, 1), assumes=["finite", "reassoc"])
    yield rule("columns",       sum_(dimshuffle(x[this.dtype], order=(0, 1, "x")) * dimshuffle(y, order=(0, "x", 1)),
                                     axis=(0,), dtype=d),
                                dot(dimshuffle(x, order=(1, 0)), y), agree(x, 0, y, 0), assumes=["finite", "reassoc"])
    yield rule("batched",       sum_(dimshuffle(t[this.dtype], order=(0, 1, 2, "x"))
                                     * dimshuffle(s, order=(0, "x", 1, 2)), axis=(2,), dtype=d),
                                matmul(t, s),
                                agree(t, 2, s, 1), assumes=["finite", "reassoc"])
    yield rule("batched_transposed", sum_(dimshuffle(t[this.dtype], order=(0, 1, "x", 2))
                                          * dimshuffle(s, order=(0, "x", 1, 2)), axis=(3,), dtype=d),
                                     matmul(t, dimshuffle(s, order=(0, 2, 1))),
                                     agree(t, 2, s, 2), assumes=["finite", "reassoc"])

    # of batches: one product of all their rows
    yield rule("batches",       sum_(matmul(dimshuffle(t[this.dtype], order=(0, 2, 1)), s)[needed_once],
                                     axis=(0,), dtype=d),
                                dot(dimshuffle(as_rows(t), order=(1, 0)), as_rows(s)), same_length(t, 0, s, 0),
                                same_length(t, 1, s, 1), same_rank(t, s), assumes=["finite", "reassoc"])
