"""`lint` handles whole programs: complex arguments, an ordinary network and traced values."""

from __future__ import annotations

import re

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
from jax import lax

from jaxgrad.parity import lint


def test_complex_arguments_are_reported():
    """A complex argument is a finding, because JAX's gradient is the conjugate of torch's."""
    z = np.array([1 + 2j])
    by_jax = jax.grad(lambda z: jnp.sum(jnp.abs(z) ** 2))(z)
    by_torch = torch.tensor(z, requires_grad=True)
    (by_torch.abs() ** 2).sum().backward()
    np.testing.assert_allclose(np.conj(by_jax), np.asarray(by_torch.grad))
    (finding,) = lint(lambda tree: jnp.sum(jnp.abs(tree["z"]) ** 2), {"z": z}).findings
    assert (finding.line, finding.primitive, finding.elements) == (
        "'z' of argument 0",
        "argument",
        1,
    )
    signs = lint(lambda z: jnp.real(jnp.sign(z)), z).findings
    assert [f.primitive for f in signs] == ["argument", "sign"]


def test_ordinary_network_is_silent():
    """`lint` has no finding in a small network at random values, but finds a label out of range."""
    keys = jax.random.split(jax.random.key(0), 3)
    params = {
        "w": jax.random.normal(keys[0], (4, 3)),
        "k": jax.random.normal(keys[1], (2, 2, 1, 4)),
    }
    image = jax.random.normal(keys[2], (2, 6, 6, 1))

    def loss(params, image, labels):
        numbers = ("NHWC", "HWIO", "NHWC")
        x = lax.conv_general_dilated(image, params["k"], (1, 1), "SAME", dimension_numbers=numbers)
        x = (x - x.mean(-1, keepdims=True)) / jnp.sqrt(x.var(-1, keepdims=True) + 1e-5)
        x = jax.nn.relu(x) + jax.nn.gelu(x)
        logits = jax.nn.log_softmax(x.max((1, 2)) @ params["w"])
        return -jnp.take_along_axis(logits, labels[:, None], 1).mean()

    report = lint(loss, params, image, jnp.array([0, 2]))
    assert report.findings == (), str(report)
    assert report.equations > 5
    (finding,) = lint(loss, params, image, jnp.array([0, 7])).findings
    assert finding.primitive == "gather" and finding.elements == 1


def test_traced_arguments_are_an_error():
    """`lint` under `jit` raises TypeError, because traced arguments have no values."""
    with pytest.raises(TypeError, match="lint needs values, but an argument is traced"):
        jax.jit(lambda x: [lint(jnp.abs, x), x][1])(1.0)


def test_what_is_no_function_is_refused():
    """The error names the argument and its value."""
    with pytest.raises(TypeError, match="lint: fn must be a function, but got 3"):
        lint(3, jnp.ones(2))  # pyright: ignore[reportArgumentType]


def test_an_argument_that_was_forgotten_is_named():
    """The error names the function, its arguments and what was given."""

    def loss(params, x):
        return (params * x).sum()

    text = (
        "lint: loss(params, x) cannot be called with the 1 argument after it: missing a required "
        "argument: 'x'; pass what loss takes, as in lint(loss, params, x)"
    )
    with pytest.raises(TypeError, match=re.escape(text)):
        lint(loss, jnp.ones(2))


def test_a_function_of_torch_is_refused():
    """torch's own function is named, and for a user's function the line that calls torch."""
    with pytest.raises(TypeError) as error:
        lint(torch.abs, jnp.ones(2))
    assert str(error.value) == (
        "lint: fn must be a JAX function, but got torch's abs; pass a function of JAX arrays, "
        "such as jnp.abs"
    )
    with pytest.raises(TypeError) as error:
        lint(lambda x: torch.abs(x).sum(), jnp.ones(2))
    assert re.fullmatch(
        r"lint runs a JAX function on JAX arrays, but fn calls torch at .*test_linter.py:\d+ "
        r"\(abs\(\): argument 'input' .* must be Tensor, not \w+\); pass the JAX port",
        str(error.value),
    )


def test_models_are_called_or_given():
    """A flax nnx or equinox model is the function or an argument; its parameters are arguments."""
    equinox, nnx = pytest.importorskip("equinox"), pytest.importorskip("flax.nnx")

    class Flax(nnx.Module):
        def __init__(self, bound: float):
            self.norm = nnx.BatchNorm(2, rngs=nnx.Rngs(0))
            self.bound = nnx.Param(jnp.full(2, bound, jnp.float32))

        def __call__(self, x):
            return jnp.clip(self.norm(x), -1.0, 1.0) + jnp.abs(self.bound[...])

    class Equinox(equinox.Module):
        bound: jax.Array

        def __call__(self, x):
            return jnp.clip(x, -1.0, 1.0) + jnp.abs(self.bound)

    x = jnp.array([[0.5, -0.5], [0.2, 0.3]], jnp.float32)
    for model in (Flax(0.0), Equinox(jnp.zeros(2, jnp.float32))):
        for report in (lint(model, x), lint(lambda m, x: m(x).sum(), model, x)):
            assert [f.primitive for f in report.findings] == ["abs"], report
    assert not lint(Flax(1.0), x).findings
