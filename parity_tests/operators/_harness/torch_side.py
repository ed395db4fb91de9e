"""Run a job in torch: values, gradients, second derivatives and forward mode."""

import functools
from collections.abc import Callable
from typing import Any, NamedTuple

import numpy as np
import torch
from torch.autograd import forward_ad

from jaxgrad.parity import interop
from jaxgrad.parity.interop import to_torch
from parity_tests.operators._harness.jobs import Job, directions


class Truth(NamedTuple):
    """torch's results, with the cotangents and the directions that produced them."""

    observed: dict[str, Any]
    cotangents: list[np.ndarray]
    directions: list[np.ndarray]


def observe(
    fun: Callable[..., Any],
    job: Job,
    *,
    ones: bool = False,
    perturb: Callable[[np.ndarray], np.ndarray] = lambda x: x,
) -> Truth:
    """Run torch on copies of a job's arrays.

    `perturb` changes the cotangents and the directions before they are used.
    """
    wanted = job.differentiable
    arrays = to_torch(job.arrays)
    inputs = [arrays[i].requires_grad_() for i in wanted]
    names = [job.names[i] for i in wanted]
    args, kwargs = job.rebuild(arrays)
    outs = flat(fun(*args, **kwargs))
    observed: dict[str, Any] = {"forward": to_numpy(outs)}
    smooth = [out for out in outs if out.is_floating_point() or out.is_complex()]
    cotangents = [perturb(c) for c in directions(job, "cotangent", to_numpy(smooth), ones=ones)]
    inputs_are = [job.arrays[i] for i in wanted]
    along = [perturb(v) for v in directions(job, "tangent", inputs_are, ones=ones)]
    live = [out.requires_grad for out in smooth]
    back = [c.requires_grad_(job.second_order) for c in to_torch(cotangents)]
    if not any(live) or not inputs:
        observed["gradient"] = dict.fromkeys(names)
        return Truth(observed, cotangents, along)
    backward = functools.partial(
        torch.autograd.grad,
        [out for out, yes in zip(smooth, live, strict=True) if yes],
        inputs,
        [c for c, yes in zip(back, live, strict=True) if yes],
        allow_unused=True,
    )
    # torch has two formulas for some gradients: one for `backward()`, and one with `create_graph`.
    gradients = backward(retain_graph=job.second_order)
    observed["gradient"] = dict(zip(names, to_numpy(list(gradients)), strict=True))
    if not job.second_order:
        return Truth(observed, cotangents, along)
    gradients = backward(create_graph=True)
    second = _second(gradients, [*inputs, *back], along)
    if second is not None:
        observed["second"] = dict(zip(names, second[: len(names)], strict=True))
        observed["transpose"] = second[len(names) :]
    tangent = _tangent(fun, job, along)
    if tangent is not None:
        observed["tangent"] = tangent
    return Truth(observed, cotangents, along)


def _second(gradients: Any, by: list[torch.Tensor], along: list[np.ndarray]) -> list[Any] | None:
    """Return the derivative of <gradient, direction>, or None if torch does not implement it."""
    pairs = [
        (g, v)
        for g, v in zip(gradients, to_torch(along), strict=True)
        if g is not None and g.requires_grad
    ]
    if not pairs:
        return None
    try:
        second = torch.autograd.grad(
            [g for g, _ in pairs], by, [v for _, v in pairs], allow_unused=True
        )
    except (NotImplementedError, RuntimeError) as error:
        if "not implemented" in str(error) or "is not differentiable" in str(error):
            return None
        raise
    return to_numpy(list(second))


def _tangent(fun: Callable[..., Any], job: Job, along: list[np.ndarray]) -> list[Any] | None:
    """Return the tangents of forward mode, or None if torch does not implement it."""
    arrays = to_torch(job.arrays)
    with forward_ad.dual_level():
        for i, v in zip(job.differentiable, to_torch(along), strict=True):
            arrays[i] = forward_ad.make_dual(arrays[i], v)
        args, kwargs = job.rebuild(arrays)
        try:
            outs = flat(fun(*args, **kwargs))
        except (NotImplementedError, RuntimeError) as error:
            if "forward AD" in str(error) or "forward-mode AD" in str(error):
                return None
            raise
        smooth = [out for out in outs if out.is_floating_point() or out.is_complex()]
        tangents = [forward_ad.unpack_dual(out).tangent for out in smooth]
        return to_numpy(tangents)


def to_numpy(tensors: Any) -> list[Any]:
    """Copy tensors to numpy; torch's zero tensors, which have no storage, become zeros."""
    return [
        torch.zeros(x.shape, dtype=x.dtype).numpy()
        if x is not None and x._is_zerotensor()
        else interop.to_numpy(x if x is None else x.resolve_conj())
        for x in tensors
    ]


def flat(out: Any) -> list[Any]:
    """Return the tensors of a result in order."""
    if isinstance(out, torch.Tensor):
        return [out]
    return [leaf for item in out if item is not None for leaf in flat(item)]
