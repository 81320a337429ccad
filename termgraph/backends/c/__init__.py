"""The C backend.

Its run-time half is independent of terms: finding a compiler (`compilers`), the persistent cache (`cache`), compiling
and loading (`builder`), the callable that runs a compiled program (`glue`), BLAS (`blas`) and the report of
`termgraph doctor` (`doctor`). Nothing here probes anything when it is imported.
"""
