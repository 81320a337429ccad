"""CUDA without a GPU: kernels compiled by g++ and run on the CPU, by themselves or below an emulated driver library."""
