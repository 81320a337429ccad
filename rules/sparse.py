"""Sparse matrices taken apart right after they were made: their arrays are what they were made of."""

from termgraph.rules import param, rule, ruleset
from termgraph.terms.ops.shaping import shape_i
from termgraph.terms.ops.sparse import (
    csm, csm_data, csm_dense, csm_diagonal, csm_dot, csm_indices, csm_indptr, csm_majors, csm_sample, csm_shape,
)


@ruleset("canonicalize")
def sparse(d, i, j, p, h, n, x, y, f: param):
    yield rule("data",           csm_data(csm(d, i, p, h, format=f)),                d)
    yield rule("indices",        csm_indices(csm(d, i, p, h, format=f)),             i)
    yield rule("indptr",         csm_indptr(csm(d, i, p, h, format=f)),              p)
    yield rule("shape",          csm_shape(csm(d, i, p, h, format=f)),               h)

    yield rule("length_majors",  shape_i(csm_majors(i, p), axis=0),                  shape_i(i, axis=0))
    yield rule("length_sample",  shape_i(csm_sample(i, j, x, y), axis=0),            shape_i(i, axis=0))
    yield rule("length_dot",     shape_i(csm_dot(d, i, p, n, x, format=f), axis=0),  n)
    yield rule("rows_dense",     shape_i(csm_dense(d, i, p, n, h, format=f), axis=0), n)
    yield rule("columns_dense",  shape_i(csm_dense(d, i, p, n, h, format=f), axis=1), h)
    yield rule("length_diagonal", shape_i(csm_diagonal(d, i, p, n), axis=0),         n)
