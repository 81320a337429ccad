"""`from termgraph.gof.graph import Apply`: the graph classes and walks under Theano's module name."""

from termgraph.graph.basic import *  # noqa: F403
from termgraph.graph.basic import __all__  # noqa: F401
