"""Checks of the exercises in the notebook freezing."""

from collections.abc import Mapping

import jax
import jax.numpy as jnp
import torch

from parity_tests.notebook.check import holds


def only_biases(grads):
    net = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Linear(3, 1))
    for name, p in net.named_parameters():
        torch.nn.init.constant_(p, float(name.endswith("weight")))
        p.requires_grad_(name.endswith("bias"))
    (net(torch.tensor([[1.0, 2.0]])) ** 2).mean().backward()
    wanted = {name: p.grad for name, p in net.named_parameters()}
    for layer, number in (("l1", "0"), ("l2", "1")):
        found = grads[layer]
        fault = f'return a tree like `net`, in which `grads["{layer}"]["bias"]` is a gradient'
        yield f"`{layer}` has its own gradients", holds(isinstance(found, Mapping), fault), True
        for leaf in ("weight", "bias"):  # a weight that is left out has no gradient either
            yield f"the gradient of {layer}.{leaf}", found.get(leaf), wanted[f"{number}.{leaf}"]


def frozen_is_not_stopped(frozen, stopped):
    w = torch.tensor([2.0, 3.0])
    for at in ([1.0, 1.0], [1.0, -2.0]):
        x, point = torch.tensor(at, requires_grad=True), jnp.array(at)
        value = ((w * x) ** 2).sum()
        value.backward()
        yield f"the value of `frozen` at {at}", frozen(point), value
        yield f"the gradient of `frozen` at {at}", jax.grad(frozen)(point), x.grad
        yield f"the value of `stopped` at {at}", stopped(point), value
        yield f"the gradient of `stopped` at {at}", jax.grad(stopped)(point), torch.zeros(2)
