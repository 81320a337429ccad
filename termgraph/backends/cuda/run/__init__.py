"""Running CUDA programs: devices, arrays, launches, recorded graphs, libraries."""
