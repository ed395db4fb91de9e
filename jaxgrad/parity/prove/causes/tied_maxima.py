"""Explain wrong gradients by equal elements that share a maximum.

torch's `max` over a dimension and its max pooling pass the gradient to one of the equal elements;
`jnp.max` divides it among them. torch is rerun with a maximum that divides it too, and the cause is
reported only if the gradients then agree, on every draw.
"""

from __future__ import annotations

import functools
from typing import Any

from jaxgrad.parity.prove import wording
from jaxgrad.parity.prove.causes.case import Case, Explanation
from jaxgrad.parity.prove.record.torch_side.values import Change


_CALLS = 16  # maxima of torch that are changed, one at a time


def explain(case: Case) -> Explanation | None:
    """Divide the gradient of a maximum in torch among equal elements, as `jnp.max` does."""
    values = case.evidence.runs[case.draw].values
    calls = {v.call_number: v for v in values if v.op in _DIVIDED and v.call_number >= 0}
    chosen = list(calls.values())[:_CALLS]
    together = [chosen] if len(chosen) > 1 else []

    def changes(group: Any) -> tuple[Change, ...]:
        return tuple(Change(v.call_number, _DIVIDED[v.op]) for v in group)

    best = case.best_in_torch(
        (group, changes(group)) for group in [*([v] for v in chosen), *together]
    )
    if best is None:
        return None
    group, fixed = best
    named = " and ".join(dict.fromkeys(v.in_words for v in group))
    ops = list(dict.fromkeys(v.op for v in group))
    pools = any(op.startswith("max_pool") for op in ops)  # which torch has in no other form
    difference = wording.Rerun(
        wording.Mutual(
            f"torch's {named} has ties: it passes the gradient to one of the equal elements, JAX "
            "divides it among all of them"
        ),
        f"rerunning torch with the gradient divided, {case.names(fixed)}",
        f"; write {' and '.join(f'jaxgrad.functional.{op}' for op in ops)}",
        "" if pools else f"; write {' and '.join(f'a{op}' for op in ops)}",
    )
    text = difference.says(case.evidence.reference)
    return Explanation(text, fixed, fixed == case.wrong, changes=changes(group))


def _reduced(func: Any, args: Any, kwargs: Any, *, largest: bool) -> Any:
    """Call `max` or `min` over a dimension with the gradient of `amax` or `amin`."""
    import torch

    out = func(*args, **kwargs)
    if not isinstance(out, tuple):  # of all elements, or of two tensors
        return out
    dim = kwargs.get("dim", args[1] if len(args) > 1 else None)
    over = torch.amax if largest else torch.amin
    return type(out)((over(args[0], dim, keepdim=out[0].ndim == args[0].ndim), out[1]))


def _pooled(func: Any, args: Any, kwargs: Any, *, dims: int) -> Any:
    """Call max pooling without options as the `amax` of windows."""
    import torch

    out = func(*args, **kwargs)
    names = ("input", "kernel_size", "stride", "padding", "dilation", "ceil_mode")
    given = dict(zip(names, args, strict=False)) | kwargs
    x, size = given["input"], _each(given["kernel_size"], dims)
    stride = _each(given.get("stride") or size, dims)
    padding = _each(given.get("padding", 0), dims)
    pads = [n for pad in reversed(padding) for n in (pad, pad)]
    windows = torch.nn.functional.pad(x, pads, value=-torch.inf)
    for n in range(dims):
        windows = windows.unfold(x.ndim - dims + n, size[n], stride[n])
    divided = windows.amax(tuple(range(-dims, 0)))
    return divided if isinstance(out, torch.Tensor) and divided.shape == out.shape else out


def _each(number: Any, dims: int) -> tuple[int, ...]:
    return (number,) * dims if isinstance(number, int) else (*number,) * (dims // len(number))


_DIVIDED = {
    "max": functools.partial(_reduced, largest=True),
    "min": functools.partial(_reduced, largest=False),
    **{f"max_pool{n}d": functools.partial(_pooled, dims=n) for n in (1, 2, 3)},
}
