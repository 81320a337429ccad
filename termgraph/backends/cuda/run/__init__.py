"""Running CUDA programs: devices, arrays, launches, recorded graphs, libraries."""

from termgraph.backends.cuda.run import device as device  # who works for devices is known to whatever uses them
