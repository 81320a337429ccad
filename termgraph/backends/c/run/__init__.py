"""Running C programs: the glue, BLAS and NumPy's loops as pointers, programs for other layouts."""
