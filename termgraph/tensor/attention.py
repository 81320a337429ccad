"""Attention of several heads, for T.nnet, with PyTorch's and JAX's names; of one head it is in `losses`."""

from __future__ import annotations

import math
from typing import Any

from termgraph.tensor.creation import arange, tri, zeros
from termgraph.tensor.distributions import Distributions
from termgraph.tensor.elemwise import cast
from termgraph.tensor.joining import concatenate
from termgraph.tensor.layers import linear
from termgraph.tensor.lengths import length, of_length, same
from termgraph.tensor.lifting import on_terms
from termgraph.tensor.likes import Length, TensorLike
from termgraph.tensor.losses import masked_scores, scaled_scores, seeing
from termgraph.tensor.noise import dropout
from termgraph.tensor.products import matmul
from termgraph.tensor.reductions import mean, softmax
from termgraph.tensor.shaping import broadcast_to, dimshuffle, expand_dims, reshape, swapaxes
from termgraph.tensor.variable import TensorVariable
from termgraph.tensor.wrap import as_tensor
from termgraph.terms.errors import ShapeError
from termgraph.terms.ops import elementwise as ew

MHA = "multi_head_attention_forward"


@on_terms
def multi_head_attention_forward(
    query: TensorLike,
    key: TensorLike,
    value: TensorLike,
    embed_dim_to_check: int,
    num_heads: int,
    in_proj_weight: TensorLike | None,
    in_proj_bias: TensorLike | None,
    bias_k: TensorLike | None,
    bias_v: TensorLike | None,
    add_zero_attn: bool,
    dropout_p: float,
    out_proj_weight: TensorLike,
    out_proj_bias: TensorLike | None,
    training: bool = True,
    key_padding_mask: TensorLike | None = None,
    need_weights: bool = True,
    attn_mask: TensorLike | None = None,
    use_separate_proj_weight: bool = False,
    q_proj_weight: TensorLike | None = None,
    k_proj_weight: TensorLike | None = None,
    v_proj_weight: TensorLike | None = None,
    average_attn_weights: bool = True,
    is_causal: bool = False,
    rng: Distributions | None = None,
) -> tuple:
    """What PyTorch's layer of this name computes: (places, batch, width) attended by heads; and the weights, or None.

    `in_proj_weight` has the rows of queries, keys and values one below the other, or `use_separate_proj_weight` asks
    for three matrices. True in a mask means that a key is not seen; masks of numbers are added to the scores.
    `is_causal` lets each place see those up to itself. Dropout in training draws from the random stream `rng`. A place
    that sees nothing is NaN, without `need_weights` `out_proj_bias`.

    >>> import numpy as np, termgraph.tensor as T
    >>> x, eye = np.ones((3, 1, 2)), np.eye(2)
    >>> three = np.concatenate([eye, eye, eye])
    >>> attention = T.nnet.multi_head_attention_forward
    >>> out, weights = attention(x, x, x, 2, 1, three, None, None, None, False, 0.0, eye, None)
    >>> out.eval().ravel(), weights.eval()[0, 0].round(3)
    (array([1., 1., 1., 1., 1., 1.]), array([0.333, 0.333, 0.333]))
    """
    batched, q, k, v = _operands(query, key, value)
    width = embed_dim_to_check
    known = q.type.shape[2]
    if known not in (None, width) or not isinstance(num_heads, int) or num_heads < 1 or width % num_heads:
        raise ShapeError(f"{MHA}: {num_heads} heads of width {width} and queries of type {q.type} do not fit")
    weights: Any = (q_proj_weight, k_proj_weight, v_proj_weight) if use_separate_proj_weight else in_proj_weight
    if weights is None or use_separate_proj_weight and None in (q_proj_weight, k_proj_weight, v_proj_weight):
        what = "q_proj_weight, k_proj_weight and v_proj_weight" if use_separate_proj_weight else "in_proj_weight"
        raise ValueError(f"{MHA}: {what} must be given")
    if query is key and key is value and not use_separate_proj_weight:  # one product
        all_three = linear(q, weights, in_proj_bias)
        q, k, v = (all_three[..., i * width : (i + 1) * width] for i in range(3))
    else:
        q, k, v = _projected(q, k, v, weights, in_proj_bias, width, use_separate_proj_weight)
    k, v, more = _with_more_keys(k, v, bias_k, bias_v, add_zero_attn)
    many, batch, places = length(q, 0), length(q, 1), length(k, 0)

    def heads(x: TensorVariable, n: Length) -> TensorVariable:
        return dimshuffle(reshape(x, (n, batch, num_heads, width // num_heads)), 1, 2, 0, 3)

    q, k, v = heads(q, many), heads(k, places), heads(v, places)
    scores = matmul(q * math.sqrt(num_heads / width), swapaxes(k, -1, -2))
    masks = _masks(attn_mask, key_padding_mask, is_causal, more, many, batch, num_heads, places - more, batched)
    scores, seen = masked_scores(
        scores, [ew.logical_not(m) if m.type.dtype == "bool" else cast(m, scores.dtype) for m in masks]
    )
    seen = seen if len(masks) > is_causal and not more else None  # what may be empty
    found = softmax(scores, axis=-1)
    if need_weights:
        found, seen = seeing(found, seen, math.nan), None
    if training and dropout_p:
        found = dropout(found, dropout_p, rng)  # type: ignore[arg-type]  # which says what is wrong
    out = reshape(dimshuffle(seeing(matmul(found, v), seen), 2, 0, 1, 3), (many, batch, width))
    out = linear(out, out_proj_weight, out_proj_bias)
    shown: Any = None
    if need_weights:
        shown = mean(found, axis=1) if average_attn_weights else found
    return (out, shown) if batched else (out[:, 0], None if shown is None else shown[0])


def _operands(query: TensorLike, key: TensorLike, value: TensorLike) -> tuple:
    """Whether there is a batch, and the operands with one."""
    q, k, v = as_tensor(query), as_tensor(key), as_tensor(value)
    if q.ndim not in (2, 3) or not q.ndim == k.ndim == v.ndim:
        raise TypeError(
            f"{MHA}: query, key and value must all be (places, batch, width) or (places, width), "
            f"got {q.type}, {k.type} and {v.type}"
        )
    return (q.ndim == 3, *[x if x.ndim == 3 else expand_dims(x, 1) for x in (q, k, v)])


def _projected(q: Any, k: Any, v: Any, weights: Any, bias: Any, width: int, separate: bool) -> list[TensorVariable]:
    rows = [slice(i * width, (i + 1) * width) for i in range(3)]
    each = weights if separate else [as_tensor(weights)[r] for r in rows]
    offsets = [None if bias is None else as_tensor(bias)[r] for r in rows]
    return [linear(x, w, b) for x, w, b in zip((q, k, v), each, offsets)]


def _with_more_keys(
    k: TensorVariable, v: TensorVariable, bias_k: TensorLike | None, bias_v: TensorLike | None, zero: bool
) -> tuple:
    """Keys and values with a learned place behind them, and one of zeros; and how many places these are."""
    if (bias_k is None) != (bias_v is None):
        raise ValueError(f"{MHA}: give both bias_k and bias_v, or none of them")
    shape = (1, length(k, 1), length(k, 2))
    added: list = []
    if bias_k is not None:
        added.append([broadcast_to(reshape(b, (1, 1, length(x, 2))), shape) for b, x in ((bias_k, k), (bias_v, v))])
    if zero:
        added.append(zeros(shape, x.type.dtype) for x in (k, v))
    for more_k, more_v in added:
        k, v = concatenate([k, more_k], axis=0), concatenate([v, more_v], axis=0)
    return k, v, len(added)


def _masks(
    attn: TensorLike | None, padding: TensorLike | None, causal: bool, more: int, many: Length, batch: Length,
    heads: int, places: Length, batched: bool,
) -> list[TensorVariable]:  # fmt: skip
    """Masks of the scores (batch, heads, queries, keys); keys that were added are seen."""
    found = []
    if causal:
        found.append(dimshuffle(ew.logical_not(tri(many, places, dtype="bool")), "x", "x", 0, 1))
    if attn is not None:
        mask = as_tensor(attn)
        if mask.ndim not in (2, 3):
            raise TypeError(f"{MHA}: attn_mask is (queries, keys) or (batch * heads, queries, keys), got {mask.type}")
        four = (batch, heads, many, places)
        found.append(dimshuffle(mask, "x", "x", 0, 1) if mask.ndim == 2 else reshape(mask, four))
    if padding is not None:
        mask = as_tensor(padding)
        if mask.ndim != 1 + batched:
            raise TypeError(f"{MHA}: key_padding_mask is (batch, keys), or (keys,) without a batch; got {mask.type}")
        found.append(dimshuffle(mask, 0, "x", "x", 1) if batched else dimshuffle(mask, "x", "x", "x", 0))
    if not more:
        return found
    return [concatenate([m, zeros((*[length(m, d) for d in range(3)], more), m.type.dtype)], axis=-1) for m in found]


@on_terms
def dot_product_attention(
    query: TensorLike,
    key: TensorLike,
    value: TensorLike,
    bias: TensorLike | None = None,
    mask: TensorLike | None = None,
    *,
    scale: TensorLike | None = None,
    is_causal: bool = False,
    query_seq_lengths: TensorLike | None = None,
    key_value_seq_lengths: TensorLike | None = None,
    local_window_size: int | tuple[int, int] | None = None,
) -> TensorVariable:
    """Attention with JAX's order of axes: (batch, places, heads, width), the batch may be missing.

    `bias` is added to the scores (batch, heads, queries, keys); `mask` says which keys are seen. Keys may have fewer
    heads than queries, a divisor of these. The lengths say how many places of each row of the batch count (a query
    beyond them gives 0), `local_window_size` how far before and behind itself a query sees. A query that sees nothing
    gives the average of all values.

    >>> import numpy as np, termgraph.tensor as T
    >>> x = np.arange(3.0).reshape(1, 3, 1, 1)
    >>> T.nnet.dot_product_attention(x, x, x, is_causal=True, local_window_size=(0, 0)).eval().ravel()
    array([0., 1., 2.])
    """
    who = "dot_product_attention"
    q, k, v = as_tensor(query), as_tensor(key), as_tensor(value)
    if q.ndim not in (3, 4) or not q.ndim == k.ndim == v.ndim:
        raise TypeError(f"{who} takes (batch, places, heads, width), got {q.type}, {k.type} and {v.type}")
    batched = q.ndim == 4
    q, k, v = (x if batched else expand_dims(x, 0) for x in (q, k, v))
    many, places, heads, groups = length(q, 1), length(k, 1), length(q, 2), length(k, 2)
    if not same(heads, groups):
        if isinstance(heads, int) and isinstance(groups, int) and (not groups or heads % groups):
            raise ShapeError(f"{who}: {groups} heads of keys for {heads} of queries, which is no multiple of them")
        times = heads // (groups if isinstance(groups, int) else ew.maximum(groups, 1))
        k, v = (_of_heads(who, _repeated(x, times), heads) for x in (k, v))
    seen = None if mask is None else _four(who, "mask", mask)
    if seen is not None and seen.type.dtype != "bool":
        raise TypeError(f"{who}: mask must be truth values, got {mask} of type {seen.type}; numbers are a bias")
    row, column = expand_dims(arange(many), 1), arange(places)
    rules = [] if seen is None else [seen]
    if is_causal:
        rules.append(dimshuffle(ew.ge(row, column), "x", "x", 0, 1))
    if local_window_size is not None:
        before, behind = (local_window_size,) * 2 if isinstance(local_window_size, int) else local_window_size
        near = ew.ge(column, row - before) & ew.le(column, row + behind)
        rules.append(dimshuffle(near, "x", "x", 0, 1))
    if key_value_seq_lengths is not None:
        within = ew.lt(column, expand_dims(as_tensor(key_value_seq_lengths), 1))
        rules.append(dimshuffle(within, 0, "x", "x", 1))
    q, k, v = (swapaxes(x, 1, 2) for x in (q, k, v))
    scores = scaled_scores(q, k, scale)
    if bias is not None:
        scores = scores + cast(_four(who, "bias", bias), q.type.dtype)
    scores, _ = masked_scores(scores, rules)
    found = swapaxes(matmul(softmax(scores, axis=-1), v), 1, 2)
    if query_seq_lengths is not None:
        counts = ew.lt(arange(many), expand_dims(as_tensor(query_seq_lengths), 1))
        found = ew.switch(dimshuffle(counts, 0, 1, "x", "x"), found, zeros((), found.type.dtype))
    return found if batched else found[0]


def _repeated(x: TensorVariable, times: int) -> TensorVariable:
    """Each head several times, side by side."""
    shape = [length(x, d) for d in range(4)]
    more = broadcast_to(expand_dims(x, 3), (*shape[:3], times, shape[3]))
    return reshape(more, (*shape[:2], shape[2] * times, shape[3]))


def _of_heads(who: str, x: TensorVariable, heads: Length) -> TensorVariable:
    """Keys or values with as many heads as there are queries, which is seen when the function is called."""
    return of_length(x, 2, heads, f"{who}: the number of heads of queries is no multiple of that of keys and values")


def _four(who: str, what: str, value: TensorLike) -> TensorVariable:
    x = as_tensor(value)
    if x.ndim > 4:
        raise TypeError(f"{who}: {what} must be (batch, heads, queries, keys), got {x} of type {x.type}")
    return dimshuffle(x, *["x"] * (4 - x.ndim), *range(x.ndim))
