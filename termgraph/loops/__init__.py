"""Loops and choices: `ifelse`, `scan` and what is made of them."""

from termgraph.loops import gradient  # the loop op can be differentiated from now on

__all__ = ["gradient"]
