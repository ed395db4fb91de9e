"""Compute a call that torch makes in one kernel step by step, so that its parts can be compared."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

import torch
from torch import Tensor

from jaxgrad.parity.prove.causes.mistakes.call import TorchCall
from jaxgrad.parity.prove.causes.mistakes.cells import GATES, Label
from jaxgrad.parity.prove.causes.mistakes.recurrent import Layers, unrolled


CALLS = frozenset({"scaled_dot_product_attention", *GATES})
_STEPS = 64  # of all layers together; a longer loop would record too many values


def steps(name: str, args: Sequence[Any], kwargs: Any, label: Label) -> Callable[[], Any] | None:
    """Return a function that computes a call step by step, or None if it cannot be opened.

    Args:
        name: torch's name for the called function.
        args: Its arguments.
        kwargs: Its named arguments.
        label: Function that is called with the name of each part before it is computed.
    """
    if name == "scaled_dot_product_attention" and not kwargs.get("enable_gqa"):
        return lambda: _attention(label, *args, **kwargs)
    if name in GATES:
        given = Layers.of(TorchCall(torch.tanh, args, kwargs, name))
        if given is None or (given.dropout and given.train):
            return None
        if given.passes * given.x.shape[1 if given.batch_first else 0] <= _STEPS:
            return lambda: unrolled(name, given, label)
    return None


def _attention(
    label: Label,
    query: Tensor,
    key: Tensor,
    value: Tensor,
    attn_mask: Tensor | None = None,
    dropout_p: float = 0.0,
    is_causal: bool = False,
    scale: float | None = None,
    enable_gqa: bool = False,
) -> Tensor:
    del enable_gqa
    label("the scores")
    scores = query @ key.transpose(-2, -1)
    label("the scaled scores")
    scores = scores * (query.shape[-1] ** -0.5 if scale is None else scale)
    label("the masked scores")
    if is_causal:
        attn_mask = torch.ones(query.shape[-2], key.shape[-2], dtype=torch.bool).tril()
    if attn_mask is not None and attn_mask.dtype == torch.bool:
        scores = scores.masked_fill(~attn_mask, float("-inf"))
    elif attn_mask is not None:
        scores = scores + attn_mask
    label("the attention weights")
    weights = torch.softmax(scores, -1)
    if dropout_p:
        label("the dropout")
        weights = torch.nn.functional.dropout(weights, dropout_p)
    label("the weighted values")
    return weights @ value
