"""The CUDA backend: loop trees as CUDA kernels, built by NVRTC, run through a small driver protocol.

May import terms, lower, vm and, of the C backend, what both share: the dialect's tables and the cache.
"""
