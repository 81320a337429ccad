"""Graph structures: owners and inputs, classes of ops, clients, clones, walks over graphs."""

import termgraph.theano as theano
import termgraph.theano.tensor as T

x = T.dmatrix("x")
y = x * 2.0
assert isinstance(y.owner.op, T.Elemwise) and isinstance(y.owner.op.scalar_op, theano.scalar.Mul)
assert len(y.owner.inputs) == 2 and y.owner.inputs[0] is x
shuffled = y.owner.inputs[1]
assert isinstance(shuffled.owner.op, T.DimShuffle) and shuffled.owner.op.new_order == ("x", "x")
assert isinstance(shuffled.owner.inputs[0], theano.gof.Constant)

total, flat = y.sum(axis=0), y.flatten()
assert isinstance(total.owner.op, T.elemwise.CAReduce) and isinstance(total.owner.op, T.Sum)
assert not isinstance(flat.owner.op, T.Elemwise) and isinstance(flat.owner.op, T.Reshape)
assert isinstance(T.dot(x, x).owner.op, T.Dot) and isinstance(x[1:].owner.op, T.Subtensor)
assert isinstance(T.nnet.softmax(x).owner.op, T.nnet.Softmax) and isinstance(T.max(x, 0).owner.op, T.MaxAndArgmax)
assert isinstance(T.set_subtensor(x[0], 1.0).owner.op, T.IncSubtensor)

w, b = T.vector("w"), T.vector("b")
expression = T.tanh(T.dot(x, w) + b)
assert theano.gof.graph.inputs([expression]) == [x, w, b]
assert [str(n.op) for n in theano.gof.graph.io_toposort([x, w, b], [expression])][0] == "dot"
assert theano.gof.graph.variables_and_orphans([x], [expression])[1] == [w, b]

z = T.vector("z")
replaced = theano.clone(expression, replace={b: z})
assert theano.gof.graph.inputs([replaced]) == [x, w, z]
assert theano.gof.graph.is_same_graph(expression, replaced, givens={z: b})
own = theano.clone(expression, share_inputs=False)
assert not set(theano.gof.graph.inputs([own])) & {x, w, b}

graph = theano.gof.FunctionGraph([x, w, b], [expression])
assert graph.outputs[0].clients[-1] == ("output", 0) if hasattr(graph.outputs[0], "clients") else True
apply_node = theano.gof.Apply(T.add, [w, b], [T.vector()])
assert apply_node.outputs[0].owner is apply_node
assert T.stacklists([[w, b], [b, w]]).ndim == 3
assert T.get_vector_length(T.as_tensor_variable([1, 2, 3])) == 3
assert T.get_scalar_constant_value(T.constant(2) + 1) == 3
rebuilt = T.DimShuffle((False, False), (1, "x", 0))(x)
assert rebuilt.ndim == 3 and rebuilt.owner.op is x.dimshuffle(1, "x", 0).owner.op
