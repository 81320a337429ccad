"""Which GPU a worker computes on: each its own while there are enough, in turn when there are not."""

from __future__ import annotations

import os
from collections.abc import Mapping
from pathlib import Path

from termgraph.config import config

VISIBLE = "CUDA_VISIBLE_DEVICES"
GPUS = Path("/proc/driver/nvidia/gpus")  # a folder for each, without asking a driver that may not be there


def own_gpu(number: int, environment: Mapping[str, str] | None = None, gpus: Path = GPUS) -> dict[str, str]:
    """The variables with which a worker sees one GPU only; none if the flag `device` is not cuda, or there is no GPU.

    >>> with config.change_flags(device="cuda"):
    ...     [own_gpu(k, {"CUDA_VISIBLE_DEVICES": "4,6"}) for k in range(3)]
    [{'CUDA_VISIBLE_DEVICES': '4'}, {'CUDA_VISIBLE_DEVICES': '6'}, {'CUDA_VISIBLE_DEVICES': '4'}]
    """
    if str(config.device) != "cuda":
        return {}
    found = visible(os.environ if environment is None else environment, gpus)
    return {VISIBLE: found[number % len(found)]} if found else {}


def one_each(workers: int, environment: Mapping[str, str] | None = None, gpus: Path = GPUS) -> bool:
    """Whether each of several workers has a GPU that it shares with none."""
    found = visible(os.environ if environment is None else environment, gpus)
    return str(config.device) == "cuda" and 1 < workers <= len(set(found))


def visible(environment: Mapping[str, str], gpus: Path = GPUS) -> list[str]:
    """The GPUs that this process may use, as the variable names them."""
    if VISIBLE in environment:
        names = [name.strip() for name in environment[VISIBLE].split(",")]
        end = next((i for i, name in enumerate(names) if name in ("", "-1")), len(names))
        return names[:end]  # what comes after a name that is none is not seen either
    return [str(k) for k in range(len(list(gpus.iterdir())) if gpus.is_dir() else 0)]
