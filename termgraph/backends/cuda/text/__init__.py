"""CUDA as text: the dialect and every kind of kernel."""
