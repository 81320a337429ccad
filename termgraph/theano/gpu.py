"""theano.sandbox.cuda and theano.gpuarray, as they are on a machine where Theano has no GPU. Imports config."""

from __future__ import annotations

import warnings
from typing import Any

from termgraph.config import config

cuda_available = cuda_enabled = cuda_ndarray_available = pygpu_activated = False


def use(device: Any, *_: object, **__: object) -> None:
    """Run what is compiled from now on on this device."""
    config.device = device
    if config.device != "cpu":
        warnings.warn("theano's device is set: termgraph's CUDA backend is used, not Theano's", stacklevel=2)


def unuse() -> None:
    """Run on the CPU again."""
    config.device = "cpu"


def dnn_available(*_: object) -> bool:
    """There is no cuDNN: convolutions are made of termgraph's own kernels."""
    return False


def version(raises: bool = True) -> int:
    """The version of cuDNN: none."""
    if raises:
        raise RuntimeError("there is no cuDNN")
    return -1


def _same(x: object) -> Any:
    """The variable itself: where it is stored is decided when the graph is compiled."""
    return x


gpu_contiguous = gpu_from_host = host_from_gpu = as_cuda_ndarray_variable = _same


def handle_shared_float32(tf: bool) -> None:
    """Accepted: shared variables are on the GPU when `config.device` says so."""
