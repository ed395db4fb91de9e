"""`lint` reports exactly the elements at which the gradients differ."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import jax.scipy.special as jsp
import numpy as np
import pytest
import torch
from jax import lax

from jaxgrad import functional
from jaxgrad._core.torch_versions import convention
from jaxgrad.parity import lint


INF = float("inf")


OPERATORS = functional.at(convention())
SILENT = {
    "maximum of two variables": (jnp.maximum, ([1.0], [1.0])),
    "max over everything": (jnp.max, (np.ones((2, 2)),)),
    "relu": (jax.nn.relu, ([0.0],)),
    "relu6": (jax.nn.relu6, ([0.0, 6],)),
    "celu": (jax.nn.celu, ([0.0],)),
    "hard_sigmoid": (jax.nn.hard_sigmoid, ([-3.0, 3],)),
    "sign, floor, round": (lambda x: jnp.sign(x) + jnp.floor(x) + jnp.round(x), ([0.0, 1],)),
    "sqrt, log, rsqrt at 0": (lambda x: jnp.sqrt(x) + jnp.log(x) + lax.rsqrt(x), ([0.0],)),
    "division by 0": (jnp.divide, ([1.0, 0], [0.0, 0])),
    "sinc": (jnp.sinc, ([0.0],)),
    "prod and cumprod": (lambda x: jnp.prod(x) + jnp.cumprod(x), ([0.0, 2, 0],)),
    "logsumexp of -inf": (jsp.logsumexp, ([-INF, -INF],)),
    "softmax of ties": (jax.nn.softmax, ([1.0, 1],)),
    "where with a nan": (lambda x: jnp.where(x > 0, jnp.sqrt(x), 0), ([0.0, -1],)),
    "sort upwards": (jnp.sort, ([1.0, 1],)),
    "argmax": (lambda x: x[jnp.argmax(x)], ([1.0, 1],)),
    "stop_gradient": (lambda x: x * lax.stop_gradient(jnp.abs(x)), ([0.0],)),
    "only counted": (lambda x: x * jnp.sum(jnp.abs(x) > 0), ([0.0],)),
    "functional": (lambda x: OPERATORS.clamp(OPERATORS.abs(x), 0, 1), ([0.0, 1],)),
    "functional inlined": (lambda x: functional.max(x, 0).values, ([1.0, 1],)),
    "an unused branch": (lambda x: lax.cond(True, jnp.sin, jnp.abs, x), (0.0,)),
    "std of one": (lambda x: jnp.std(x, ddof=1), ([1.0],)),
}  # fmt: skip


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", SILENT)
def test_silent(name):
    """`lint` reports nothing where torch has the same convention or no gradient flows."""
    fn, args = SILENT[name]
    report = lint(fn, *(np.asarray(a, float) for a in args))
    assert report.findings == (), str(report)


def test_an_empty_vector_is_not_a_zero_vector():
    """`lint` has no finding for the norm of an empty array."""
    lint(lambda x: jnp.linalg.norm(x) + jnp.sum(jnp.abs(x)), jnp.ones(0)).check()


def test_promotion_by_a_scalar_array():
    """bfloat16 times a 0-d float32 array is float32 in JAX and bfloat16 in torch."""
    x, scale = jnp.ones(2, jnp.bfloat16), jnp.float32(2)
    assert (torch.ones(2, dtype=torch.bfloat16) * torch.tensor(2.0)).dtype == torch.bfloat16
    assert (x * scale).dtype == jnp.float32
    (finding,) = lint(lambda x: x * scale, x).findings
    assert (finding.primitive, finding.where) == ("mul", "promoted by a 0-d array")
    for fine in (lambda x: x * 2.0, lambda x: x.astype(jnp.float32) * scale, lambda x: x * x):
        assert not lint(fine, x).findings
    assert not lint(lambda x: x * jnp.ones(2), x).findings


def test_a_batched_scatter_has_no_duplicates():
    """The same index in two rows of a batch addresses two different elements."""
    put = jax.vmap(lambda i, v: jnp.zeros(3).at[i].set(v))
    assert not lint(lambda v: put(jnp.array([1, 1]), v), jnp.ones(2)).findings
    twice = jax.vmap(lambda i, v: jnp.zeros(3).at[i].set(v), (None, 0))
    (finding,) = lint(lambda v: twice(jnp.array([1, 1]), v), jnp.ones((2, 2))).findings
    assert finding.primitive == "scatter"
