"""Checks of the exercises in the notebook none_or_zero."""

import contextlib
from collections.abc import Iterator

import jax.numpy as jnp
import torch

import jaxgrad
from parity_tests.notebook.check import Advice, holds
from parity_tests.notebook.live_torch import leaf


def one_of_each(loss):
    tensors = {name: leaf(2.0) for name in "abc"}
    with _both_frameworks():
        loss(tensors).backward()
    grads = {name: tensor.grad for name, tensor in tensors.items()}
    values = {name: None if grad is None else grad.item() for name, grad in grads.items()}
    for name, right, aim in (
        ("a", values["a"], "a number other than 0"),
        ("b", values["b"] == 0, "0"),
        ("c", values["c"] is None, "None"),
    ):
        fault = f"torch's gradient of `{name}` is {values[name]}; it should be {aim}"
        yield f"torch's gradient of `{name}` is {aim}", holds(right, fault), True
    with _both_frameworks():
        found = jaxgrad.grad(loss)({name: jnp.array(2.0) for name in "abc"})
    yield "what `jaxgrad.grad` returns", found, grads


@contextlib.contextmanager
def _both_frameworks() -> Iterator[None]:
    """Say that a loss runs in both frameworks if a function of one gets values of the other."""
    try:
        yield
    except TypeError as error:
        if not any(words in str(error) for words in ("valid JAX type", "must be Tensor, not")):
            raise
        raise Advice(
            "`loss` is called with tensors of torch and with arrays of JAX; use operators that "
            "both have, such as `+`, `*` and `**`, and no function of one framework"
        ) from error


def decay_that_skips_none(step):
    used, zero, _ = tensors = [leaf(1.0) for _ in range(3)]
    (used + 0 * zero).backward()
    grads = [None if p.grad is None else jnp.array(p.grad.item()) for p in tensors]
    torch.optim.SGD(tensors, lr=0.1, weight_decay=0.5).step()
    for name, p, grad in zip(("1", "0", "None"), tensors, grads, strict=True):
        yield f"the parameter after a gradient of {name}", step(jnp.array(1.0), grad), p
