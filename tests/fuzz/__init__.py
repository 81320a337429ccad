"""Random programs over the whole language: every mode computes what the NumPy meaning of each statement says.

`termgraph fuzz --seconds 60 --seed 1` runs them and prints the smallest program that disagrees.
"""
