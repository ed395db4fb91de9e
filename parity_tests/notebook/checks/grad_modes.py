"""Checks of the exercises in the notebook grad_modes."""

import contextlib
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import torch

import jaxgrad
from parity_tests.notebook.check import Advice, returned, within_one_framework
from parity_tests.notebook.live_torch import grads_of, leaf


IN_JAX = (
    "`{name}` is called with arrays of JAX; use functions of JAX, such as `lax.stop_gradient`, and "
    "no function or method of torch, such as `detach`"
)
IN_TORCH = (
    "`{name}` is called with tensors of torch; use functions or methods of torch, such as "
    "`detach`, and no function of JAX"
)
BOTH_STOPPED = (
    "your torch function stops both terms, so its result does not require grad and `backward()` "
    "raises. Stop one term, and leave the path through the other"
)
BACKWARD_INSIDE = (
    "`in_torch` calls `backward()`. Return the sum only; this check calls `backward()` on it"
)


def one_term_of_a_sum(in_torch, in_jax):
    for at in (1.0, 2.0):  # at 2 a constant factor in place of a stopped term is noticed
        point, array = leaf(at), jnp.array(at)
        (cube,) = grads_of(lambda x: x**3, at)
        with within_one_framework(IN_TORCH.format(name="in_torch")), _says_what_is_stopped():
            value, grad = _value_and_grad(in_torch, point)
        with within_one_framework(IN_JAX.format(name="in_jax")):
            jax_value = returned("in_jax", in_jax(array))
            jax_grad = jax.grad(in_jax)(array)
        for name, found in (("torch", value), ("JAX", jax_value)):
            yield f"the value of your {name} function at {at:g}", found, point**2 + point**3
        for name, found in (("torch", grad), ("JAX", jax_grad)):
            yield f"the derivative of your {name} function at {at:g}", found, cube


def stopped_too_early(stopped):
    for at in ([1.0, 2.0], [3.0, -1.0]):
        (grad,) = grads_of(lambda x: (x.detach() ** 2).sum() + 0 * x.sum(), at)
        array = jnp.array(at)
        with within_one_framework(IN_JAX.format(name="stopped")):
            value = returned("stopped", stopped(array))
            found = jax.grad(stopped)(array)
        yield f"the value at {at}", value, (torch.tensor(at) ** 2).sum()
        yield f"the gradient at {at}", found, grad


def same_value_other_gradient(loss):
    def in_torch(a, b):
        return a * b.detach() + a.detach()

    for at in ((2.0, 5.0), (3.0, -1.0)):
        arrays = [jnp.array(value) for value in at]
        with within_one_framework(IN_JAX.format(name="loss")):
            value = returned("loss", loss(*arrays))
            for_a, for_b = jaxgrad.grad(loss, (0, 1))(*arrays)
        yield f"the value at {at}", value, in_torch(*map(torch.tensor, at))
        in_a, in_b = grads_of(in_torch, *at)
        yield f"the gradient of a at {at}", for_a, in_a
        yield f"the gradient of b at {at}", for_b, in_b


def _value_and_grad(in_torch: Callable[[torch.Tensor], Any], x: torch.Tensor) -> tuple[Any, Any]:
    """Return the value of the reader's torch function at `x`, and its gradient.

    Raises:
        Advice: The function returns no tensor, or calls `backward()`.
    """
    value = in_torch(x)
    if x.grad is not None:
        raise Advice(BACKWARD_INSIDE)
    if isinstance(returned("in_torch", value), int | float):
        raise Advice(BOTH_STOPPED)
    value.backward()
    return value, x.grad


@contextlib.contextmanager
def _says_what_is_stopped() -> Iterator[None]:
    """Say that both terms are stopped if the result does not require grad."""
    try:
        yield
    except RuntimeError as error:
        if "does not require grad" not in str(error):
            raise
        raise Advice(BOTH_STOPPED) from error
