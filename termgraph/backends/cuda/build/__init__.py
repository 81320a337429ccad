"""From CUDA text to a cubin."""
