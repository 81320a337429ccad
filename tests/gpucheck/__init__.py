"""What `scripts/gpu_check.py` checks and measures on a GPU, or on its emulation."""
