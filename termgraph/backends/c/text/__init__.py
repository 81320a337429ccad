"""C as text: the dialect, kernels, loops over steps, library calls, and the functions they need."""
