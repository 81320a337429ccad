"""`mean_over_workers`: a mark that says where the workers of data-parallel training come together.

It is an identity for one worker. `termgraph.dist` cuts graphs there for several.
"""

from __future__ import annotations

import numpy as np

from termgraph.terms.ops.dtype_rules import same_rule
from termgraph.terms.ops.elementwise import elementwise


def _alone(x: object) -> np.ndarray:
    return np.asarray(x)


mean_over_workers = elementwise(
    "mean_over_workers", 1, _alone, same_rule, "{0}", doc="The mean of x over all workers; x itself where there is one."
)
