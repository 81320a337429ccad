"""Convolutions with filters of one place as products of matrices by cuBLAS: a plan beside those of cuDNN.

For filters' gradients images give a product each, and a row of ones times these adds them. May touch: cuBLAS.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from math import prod
from typing import Any

import numpy as np

from termgraph.backends.cuda.driver.base import CudaError, OutOfDeviceMemory
from termgraph.backends.cuda.run.cudnn_engines import NotSupported
from termgraph.backends.cuda.run.device_array import DeviceArray

DTYPES = "float32", "float64"  # cuBLAS may add parts of long sums of halves as halves
SCRATCH = 64 << 20  # bytes for the products of some images; those of the next ones are added to what is there


class Products:
    """A convolution, or a gradient of one, by batches of products."""

    def __init__(self, blas: Any, p: Mapping[str, Any], precision: str) -> None:
        self.blas, self.room, self.size, self.ones = blas, 0, 0, None
        (images, channels, *lengths), filters = p["x"], p["w"][0]
        self.images, self.channels, self.filters, self.places = images, channels, filters, prod(lengths)
        self.dtype, self.precision = p["dtype"], precision
        if p["name"] == "conv_taps":
            item = np.dtype(p["dtype"]).itemsize
            self.at_once = min(images, max(1, SCRATCH // (filters * channels * item)))
            self.size = self.at_once * filters * channels * item
            self.ones = DeviceArray.of(np.ones(self.at_once, p["dtype"]), "sums of products", blas.device)
        made = {"conv_panels": self.forward, "conv_spread": self.spread, "conv_taps": self.taps}
        self.calls = list(made[p["name"]]())

    def __str__(self) -> str:
        return "products"

    def version(self) -> int:
        """The library's: another one may choose other kernels."""
        return int(self.blas.cublas.get_version(self.blas.handle))

    # ------------------------------------------------------------------ what is multiplied
    def forward(self) -> Iterator[tuple[dict[str, Any], str]]:
        """Results: filters times images."""
        w, x = ("w", 0, [self.channels, 1], 0), ("x", 0, [self.places, 1], self.channels * self.places)
        yield self.product((self.filters, self.places, self.channels), w, x, ("y", 0, self.filters * self.places))

    def spread(self) -> Iterator[tuple[dict[str, Any], str]]:
        """Gradients for images: turned filters times gradients of results."""
        w, y = ("w", 0, [1, self.channels], 0), ("y", 0, [self.places, 1], self.filters * self.places)
        yield self.product((self.channels, self.places, self.filters), w, y, ("x", 0, self.channels * self.places))

    def taps(self) -> Iterator[tuple[dict[str, Any], str]]:
        """Gradients for filters: gradients of results times turned images, some images at once; then their sum."""
        size = self.filters * self.channels
        for first in range(0, self.images, self.at_once):
            n = min(self.at_once, self.images - first)
            y = ("y", first * self.filters * self.places, [self.places, 1], self.filters * self.places)
            x = ("x", first * self.channels * self.places, [1, self.places], self.channels * self.places)
            yield self.product((self.filters, self.channels, self.places), y, x, ("room", 0, size), n)
            ones, each = ("ones", 0, [n, 1], 0), ("room", 0, [size, 1], 0)
            added, _ = self.product((1, size, n), ones, each, ("w", 0, 0), 1, float(first > 0))
            yield added, self.dtype  # sums are never rounded further

    def product(
        self, sizes: tuple[int, int, int], a: Any, b: Any, c: Any, depth: int = 0, beta: float = 0.0
    ) -> tuple[dict[str, Any], str]:
        """One call of the library: places, steps and jumps of both operands and the result."""
        p = {
            "name": "gemm", "dtype": self.dtype, "sizes": sizes, "a": a, "b": b, "c": c, "depth": depth or self.images,
            "alpha": 1.0, "beta": beta,
        }  # fmt: skip
        return p, self.precision

    def run(self, places: Mapping[str, int]) -> None:
        """Queue it, with arrays at these addresses."""
        at = {**places, "room": self.room, "ones": 0 if self.ones is None else self.ones.address}
        for p, precision in self.calls:
            try:
                known = self.blas.gemm(p, at, precision)
            except self.blas.cublas.cuBLASError as error:
                raise CudaError(f"cuBLAS: {error}") from None
            if not known:
                raise NotSupported("cublasGemmStridedBatchedEx")


def products(device: Any, p: Mapping[str, Any], precision: str) -> list[Products]:
    """The plan for a problem, if that is a product of matrices and cuBLAS is there."""
    one = all(n == 1 for n in (*p["w"][2:], *p["stride"], p["groups"]))
    if p["dtype"] not in DTYPES or not one or any(p["pad"]):
        return []
    try:
        blas = device.blas()
        return [] if blas is None else [Products(blas, p, precision)]
    except OutOfDeviceMemory:
        return []
