"""Programs and the virtual machine that runs them: a linear list of instructions over slots, by NumPy meaning."""

from termgraph.vm import loops  # loop ops run their bodies on the machine from now on

__all__ = ["loops"]
