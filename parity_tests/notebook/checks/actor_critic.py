"""Checks of the exercises in the notebook actor_critic."""

import jax.numpy as jnp
import torch

import jaxgrad
from parity_tests.notebook.live_torch import grads_of


def train_the_actor_only(loss):
    def in_torch(w, v):
        return -v.detach() * (w * 3)

    for at in ((2.0, 5.0), (-1.0, 4.0)):
        yield f"the loss at {at}", loss(*at), in_torch(*map(torch.tensor, at))
        found, wanted = jaxgrad.grad(loss, (0, 1))(*at), grads_of(in_torch, *at)
        for name, left, right in zip("wv", found, wanted, strict=True):
            yield f"the gradient of {name} at {at}", left, right


def follow_slowly(follow):
    critic, target = {"w": [1.0, 2.0], "b": [4.0]}, {"w": [0.0, 0.0], "b": [2.0]}
    wanted = {}
    for name, value in target.items():
        wanted[name] = torch.tensor(value).lerp_(torch.tensor(critic[name]), 0.1)
    found = follow(*({k: jnp.array(v) for k, v in tree.items()} for tree in (target, critic)))
    for name, value in wanted.items():
        yield f"the target's {name}", found[name], value
