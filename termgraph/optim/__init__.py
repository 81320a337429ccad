"""Optimizers: from gradients to updates of shared variables, as small parts that can be chained.

>>> import numpy as np, termgraph as tg, termgraph.tensor as T
>>> w = tg.shared(np.array([4.0, -2.0]), name="w")
>>> cost = (w ** 2).sum()
>>> step = tg.function([], cost, updates=tg.optim.sgd(0.1)(cost, [w]))
>>> [round(float(step()), 2) for _ in range(3)]
[20.0, 12.8, 8.19]
"""

import sys
from typing import NoReturn

from termgraph.optim.clipping import clip, clip_by_global_norm, clip_by_norm, global_norm
from termgraph.optim.optimizers import (
    adadelta,
    adagrad,
    adam,
    adamax,
    adamw,
    lion,
    momentum,
    nadam,
    nesterov,
    rmsprop,
    sgd,
)
from termgraph.optim.schedules import (
    cosine_decay,
    exponential_decay,
    linear,
    piecewise_constant,
    polynomial,
    warmup_cosine_decay,
)
from termgraph.optim.transform import State, Transform, add_decayed_weights, chain, scale, scale_by_learning_rate

__all__ = [
    "State", "Transform", "adadelta", "adagrad", "adam", "adamax", "adamw", "add_decayed_weights", "chain", "clip",
    "clip_by_global_norm", "clip_by_norm", "cosine_decay", "exponential_decay", "global_norm", "linear", "lion",
    "momentum", "nadam", "nesterov", "piecewise_constant", "polynomial", "rmsprop", "scale", "scale_by_learning_rate",
    "sgd", "warmup_cosine_decay",
]  # fmt: skip


def __dir__() -> list[str]:
    return __all__


def __getattr__(name: str) -> NoReturn:
    text = f"module 'termgraph.optim' has no attribute {name!r}"
    meant = name.lower()
    hint = f"; write updates = tg.optim.{meant}(rate)(cost, params)" if meant in __all__ else ""
    raise AttributeError(text + hint, name=name, obj=sys.modules[__name__])
