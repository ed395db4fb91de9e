"""Checks of the exercises in the notebook freezing."""

import jax
import jax.numpy as jnp
import torch


def only_biases(grads):
    net = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.Linear(3, 1))
    for name, p in net.named_parameters():
        torch.nn.init.constant_(p, float(name.endswith("weight")))
        p.requires_grad_(name.endswith("bias"))
    (net(torch.tensor([[1.0, 2.0]])) ** 2).mean().backward()
    wanted = {name: p.grad for name, p in net.named_parameters()}
    for layer, number in (("l1", "0"), ("l2", "1")):
        for leaf in ("weight", "bias"):
            yield f"the gradient of {layer}.{leaf}", grads[layer][leaf], wanted[f"{number}.{leaf}"]


def frozen_is_not_stopped(frozen, stopped):
    w, x = torch.tensor([2.0, 3.0]), torch.ones(2, requires_grad=True)
    ((w * x) ** 2).sum().backward()
    ones = jnp.ones(2)
    yield "the gradient of x with a frozen layer", jax.grad(frozen)(ones), x.grad
    yield "the value with a stopped output", stopped(ones), ((w * x) ** 2).sum()
    yield "the gradient of x with a stopped output", jax.grad(stopped)(ones), torch.zeros(2)
