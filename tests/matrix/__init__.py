"""The op matrix: every public function in every dtype, rank, layout, mode and kind of value, against NumPy and SciPy.

`python -m tests.matrix --seconds 60 --seed 1` runs a part of it and says how much that was.
"""
