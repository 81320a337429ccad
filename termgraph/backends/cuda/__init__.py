"""The CUDA backend: loop trees as CUDA kernels, built by NVRTC, run through a small driver protocol."""
