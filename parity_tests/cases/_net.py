"""The two-layer network that several cases share, as plain functions of a params tree."""

from typing import Any

import jax
import jax.numpy as jnp

from parity_tests.inputs import linear as draw_linear


NET = {"l1": draw_linear(10, 5), "l2": draw_linear(5, 1)}


def linear(params: Any, x: jax.Array) -> jax.Array:
    """`nn.Linear`, with the weight in torch's layout (out, in)."""
    return x @ params["weight"].T + params["bias"]


def forward(net: Any, x: jax.Array) -> jax.Array:
    return linear(net["l2"], linear(net["l1"], x))


def mse(out: jax.Array, y: jax.Array) -> jax.Array:
    return jnp.mean((out - y) ** 2)


def mlp(net: Any, x: jax.Array) -> jax.Array:
    """Apply L1, ReLU and L2."""
    return linear(net["l2"], jax.nn.relu(linear(net["l1"], x)))


def error_of(program: Any) -> Exception | None:
    """Run a program and return the exception that it raises, as an observation."""
    try:
        program()
    except Exception as error:
        return error
    return None
