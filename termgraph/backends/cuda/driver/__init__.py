"""Drivers: the Python packages through which the backend talks to a GPU, behind one small protocol."""
