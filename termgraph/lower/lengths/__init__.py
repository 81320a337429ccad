"""Lengths: the shape of every term as polynomials, the arithmetic of indices, what is checked at run time."""
