"""Terms: the interned, typed expression tuples that graphs, patterns, loop bodies and kernels are made of."""
