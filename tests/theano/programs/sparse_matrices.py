"""Sparse matrices: their parts, structured operations, products and gradients."""

import numpy as np
import scipy.sparse as sp

import termgraph.theano as theano
import termgraph.theano.tensor as T
from termgraph.theano import sparse

x = sparse.csc_matrix(name="x", dtype="float32")
a = sp.csc_matrix(np.asarray([[0, 1, 1], [0, 0, 0], [1, 0, 0]], dtype="float32"))
data, indices, indptr, shape = sparse.csm_properties(x)
turned = theano.function([x], sparse.CSR(data, indices, indptr, shape))(a)
assert (turned.toarray() == a.toarray().T).all()

added = theano.function([x], sparse.structured_add(x, 2))(a)
assert (added.toarray() == np.asarray([[0, 3, 3], [0, 0, 0], [3, 0, 0]])).all()
assert (theano.function([x], sparse.dense_from_sparse(x))(a) == a.toarray()).all()
assert sparse.csr_from_dense(T.dmatrix()).type.format == "csr"

m = T.fmatrix("m")
product = sparse.structured_dot(x, m)
f = theano.function([x, m], product)
assert np.allclose(f(a, np.ones((3, 2), "float32")), a.toarray() @ np.ones((3, 2)))
g = theano.function([x, m], T.grad(product.sum(), m))
assert np.allclose(g(a, np.ones((3, 2), "float32")), a.toarray().T @ np.ones((3, 2)))
assert np.allclose(theano.function([x], sparse.structured_exp(x).sum())(a), 3 * np.e)
assert isinstance(x.type, sparse.SparseType) and x.type.format == "csc"
