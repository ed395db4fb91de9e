"""The mistakes that are tried in each torch call, in order."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Sequence

import numpy as np
import torch
from torch import Tensor

from jaxgrad.parity.interop import to_numpy
from jaxgrad.parity.prove.causes.mistakes import (
    arguments,
    cells,
    discrete,
    general,
    layers,
    masks,
    recurrent,
    views,
)
from jaxgrad.parity.prove.causes.mistakes.call import Mistakes, TorchCall
from jaxgrad.parity.prove.record.torch_side.values import MOVES
from jaxgrad.parity.prove.wording import Difference


_TABLE: dict[str, tuple[Callable[[TorchCall], Mistakes], ...]] = {
    **dict.fromkeys(general.BINARY, (general.binary, general.broadcast, masks.operand)),
    **dict.fromkeys(general.UNARY, (general.unary,)),
    **dict.fromkeys(general.ACTIVATIONS, (general.activation,)),
    **dict.fromkeys(("cat", "concat", "concatenate", "stack"), (views.joined,)),
    **dict.fromkeys(("flatten", "reshape", "view", "unflatten"), (views.reshaped,)),
    **dict.fromkeys(("transpose", "permute", "swapaxes", "movedim"), (views.moved,)),
    **dict.fromkeys(("chunk", "split", "unbind"), (views.parted,)),
    "getitem": (views.taken,),
    **{f"conv{kind}{n}d": (layers.convolution,) for kind in ("", "_transpose") for n in (1, 2, 3)},
    **{f"{kind}_pool{n}d": (layers.pool,) for kind in ("avg", "max") for n in (1, 2, 3)},
    **dict.fromkeys(("softmax", "log_softmax", "logsumexp"), (general.dimension,)),
    "normalize": (general.order, general.dimension, general.normalized),
    "cosine_similarity": (general.dimension,),
    **dict.fromkeys(("cumsum", "cumprod", "logcumsumexp"), (general.running,)),
    **dict.fromkeys(("std", "var"), (general.variance, general.dimension)),
    **dict.fromkeys(("mean", "sum", "amax", "amin"), (general.reduction, general.scaled)),
    "norm": (general.order, general.rooted, general.reduction, general.scaled),
    **dict.fromkeys(("matmul", "bmm", "mm"), (general.products,)),
    **dict.fromkeys(cells.GATES, (recurrent.mistakes,)),
    **dict.fromkeys((f"{kind}_cell" for kind in cells.GATES), (cells.mistakes,)),
    "rms_norm": (layers.affine,),
    "instance_norm": (layers.instance_norm,),
    "layer_norm": (layers.layer_norm,),
    **dict.fromkeys(("cross_entropy", "nll_loss"), (general.labels,)),
    **dict.fromkeys(general.LOSSES, (general.errors, general.broadcast)),
    "gelu": (general.gelu, general.activation),
    "linear": (layers.linear,),
    "batch_norm": (layers.batch_norm,),
    "group_norm": (layers.group_norm,),
    "scaled_dot_product_attention": (layers.attention, layers.dropout),
    **dict.fromkeys(("dropout", "dropout1d", "dropout2d", "dropout3d"), (layers.dropout,)),
    "glu": (layers.glu, general.dimension),
    "ctc_loss": (general.ctc,),
    "interpolate": (layers.interpolate,),
    "embedding": (general.looked_up,),
    **dict.fromkeys(("gather", "index_select"), (general.gathered,)),
    "embedding_bag": (layers.bag,),
    **dict.fromkeys(("clamp", "clip"), (general.clamped,)),
    "hardtanh": (general.activation, general.clamped),
    "masked_fill": (masks.filled,),
    "where": (masks.chosen,),
    "repeat_interleave": (general.repeated,),
    **dict.fromkeys(discrete.COMPARISONS, (discrete.compared,)),
    **dict.fromkeys(discrete.TO_INTEGERS, (discrete.rounded,)),
    **dict.fromkeys(discrete.LOGICAL, (discrete.logical,)),
    **dict.fromkeys(("argmax", "argmin"), (discrete.largest, general.dimension)),
}  # fmt: skip


def variants(call: TorchCall) -> Iterator[TorchCall]:
    """Yield the call with each mistake that applies to it, each text once."""
    found: set[Difference] = set()
    for wrong in _variants(call):
        if wrong.difference not in found:
            found.add(wrong.difference)
            yield wrong


def _variants(call: TorchCall) -> Iterator[TorchCall]:
    first = (general.eps, general.left_out, discrete.left_out)
    named = _TABLE.get(call.op, ())
    losses = (general.losses, general.scaled) if call.named("reduction") is not None else ()
    last = () if call.op in MOVES else (general.every,)
    calls = {call.complete: call}  # of the same function
    for wrong in _applied(call, (*first, *named, *losses)):
        if wrong.func is call.func:
            calls[wrong.complete] = wrong
        yield wrong
    for wrong in _applied(call, _of_arguments(call)):
        if wrong.complete not in calls:  # which has a name of its own
            yield wrong
    yield from _applied(call, last)


def _applied(
    call: TorchCall, mistakes: Sequence[Callable[[TorchCall], Mistakes]]
) -> Iterator[TorchCall]:
    for make in mistakes:
        try:
            yield from make(call)
        except Exception:  # the call has other arguments than this mistake expects
            continue


def _of_arguments(call: TorchCall) -> tuple[Callable[[TorchCall], Mistakes], ...]:
    if call.op in discrete.COMPARISONS:
        return ()
    if call.op in general.BINARY or call.signature is None:
        return (general.other_numbers,)
    return arguments.defaults, arguments.flags, arguments.numbers, arguments.exchanged


def results(call: TorchCall) -> Iterator[tuple[TorchCall, np.ndarray]]:
    """Yield the call with each mistake, and its result, if that is floating."""
    for wrong, out in outcomes(call):
        if out.is_floating_point() or out.is_complex():
            yield wrong, to_numpy(out)


def outcomes(call: TorchCall) -> Iterator[tuple[TorchCall, Tensor]]:
    """Yield the call with each mistake that applies to it, and the first tensor of its result."""
    for wrong in variants(call):
        try:
            with torch.no_grad():
                out = wrong.result
        except Exception:  # the mistake does not apply to this call
            continue
        out = out[0] if isinstance(out, tuple | list) and out else out
        if isinstance(out, Tensor):
            yield wrong, out
