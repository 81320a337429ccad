"""The names of Theano's `scan_module`, for programs that write `theano.scan_module.until`."""

from termgraph.loops.scan import scan
from termgraph.loops.steps import until

__all__ = ["scan", "until"]
