"""Checks of the exercises in the notebook clipping."""

import jax.numpy as jnp
import torch
from torch.nn.utils import clip_grad_norm_

from parity_tests.notebook.check import holds, names_in


def by_hand(clip):
    library = names_in(clip) & {"clip_grad_norm", "clip_by_global_norm", "global_norm", "optax"}
    fault = f"write the norm yourself, without `{min(library, default='')}`"
    yield "no library is used", holds(not library, fault), True
    for a, b in (([3.0, 4.0], [12.0]), ([0.3, 0.4], [0.0])):
        tensors = [torch.zeros(2), torch.zeros(1)]
        tensors[0].grad, tensors[1].grad = torch.tensor(a), torch.tensor(b)
        norm = clip_grad_norm_(tensors, 1.0)
        clipped = {"a": tensors[0].grad, "b": tensors[1].grad}
        found = clip({"a": jnp.array(a), "b": jnp.array(b)}, 1.0)
        yield f"the result for {a} and {b}, whose norm is {norm:.3g},", found, clipped
    tiny = torch.zeros(1)
    tiny.grad = torch.tensor([5e-6])
    clip_grad_norm_([tiny], 5e-6)
    found = clip({"a": jnp.array([5e-6])}, 5e-6)["a"]
    what = "the result for a gradient of 5e-6 and a bound of 5e-6, multiplied by 1e6,"
    yield what, 1e6 * found, 1e6 * tiny.grad


def each_its_own(clip_each):
    grads = {"a": [3.0, 4.0], "b": [12.0], "c": [0.5]}
    wanted = {}
    for name, grad in grads.items():
        tensor = torch.zeros(len(grad))
        tensor.grad = torch.tensor(grad)
        clip_grad_norm_([tensor], 1.0)
        wanted[name] = tensor.grad
    found = clip_each({name: jnp.array(grad) for name, grad in grads.items()}, 1.0)
    for name, grad in wanted.items():
        yield f"the clipped gradient of {name}", found[name], grad
