"""Loops and choices: `ifelse`, `scan` and what is made of them. May import terms, tensor, rules, db and grad."""

from termgraph.loops import gradient  # the loop op can be differentiated from now on

__all__ = ["gradient"]
