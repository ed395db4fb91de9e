"""JAX's form of an operator is written where its values and gradients are torch's."""

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
from jax import lax
from torch import nn

from jaxgrad.parity.port.rules.equal_forms import FORMS, INTEGER_FORMS
from parity_tests.operators._harness.conventions import read
from tests.jaxgrad.parity.port._ports import agrees, source


POINTS = np.array([-np.inf, -2, -1, -0.5, -0.0, 0.0, 0.5, 1, 2, np.inf, np.nan])
X = np.random.default_rng(0).standard_normal((3, 4))
CASES = {  # the arrays, and the other arguments by torch's names
    "glu": ([X], {"dim": 1}), "outer": ([X[0], X[1]], {}),
    "logsumexp": ([np.array([[0.0, 1.0], [-np.inf, -np.inf], [np.inf, 1.0]])], {"dim": 1}),
    "roll": ([X], {"shifts": (1, -1), "dims": (0, 1)}), "flip": ([X], {"dims": (0, 1)}),
    "fliplr": ([X], {}), "flipud": ([X], {}), "ravel": ([X], {}),
    "rot90": ([X], {"k": 3, "dims": (0, 1)}),
    "repeat_interleave": ([X], {"repeats": 2, "dim": 1}), "complex": ([X, X], {}),
}  # fmt: skip


def jax_form(name: str):
    return eval(FORMS[name].name, {"jax": jax, "jnp": jnp, "lax": lax})


def torch_operator(name: str):
    return getattr(torch, name, None) or getattr(nn.functional, name)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("name", sorted(FORMS))
def test_a_form_has_torchs_values_and_gradients(name):
    """The gradients are compared at bounds, zeros, infinities and NaN."""
    arrays, options = CASES.get(name, ([POINTS], {}))
    tensors = [torch.tensor(x, requires_grad=True) for x in arrays]
    wanted = torch_operator(name)(*tensors, **options)
    weight = np.cos(np.arange(wanted.numel())).reshape(wanted.shape)
    wanted.backward(torch.tensor(weight).to(wanted.dtype))
    names = FORMS[name].arguments
    with jax.enable_x64():
        passed = [v for k, v in options.items() if not names[k]]
        named = {names[k]: v for k, v in options.items() if names[k]}
        out, pull = jax.vjp(
            lambda *x: jax_form(name)(*x, *passed, **named), *map(jnp.array, arrays)
        )
        grads = pull(jnp.array(weight, out.dtype))
    np.testing.assert_allclose(out, wanted.detach(), rtol=1e-12)
    for grad, tensor in zip(grads, tensors, strict=True):
        assert tensor.grad is not None
        np.testing.assert_allclose(grad, tensor.grad, rtol=1e-9, atol=1e-12)


def test_no_form_is_in_the_table_of_conventions():
    """The table has the operators whose obvious form has other gradients."""
    different = {row.operator for row in read()}
    assert not different & set(FORMS)
    assert different >= set(INTEGER_FORMS)


class Distances(nn.Module):
    def __init__(self):
        super().__init__()
        self.table = nn.Embedding(4, 3)
        self.scale = nn.Parameter(torch.ones(()))

    def forward(self, x):
        places = torch.arange(x.shape[1])
        distance = (places[None] - places[:, None]).abs().clamp(max=3)
        kinds = nn.functional.one_hot(distance, 4).float()
        steps = torch.arange(x.shape[1]).float() * self.scale.abs().clamp(min=1)
        return torch.addmm(steps[:, None], kinds.sum(1), self.table.weight)


def test_integers_and_casts_have_jaxs_forms():
    """No gradient flows to an integer; a float keeps torch's gradient at 0."""
    x = np.ones((2, 5), np.float32)
    text = source(Distances(), x)
    assert "jnp.clip(jnp.abs(" in text and "max=3)" in text
    assert "jax.nn.one_hot(distance, 4, dtype=jnp.float32)" in text
    assert "jnp.arange(x.shape[1], dtype=jnp.float32)" in text
    assert 'F.clamp(F.abs(p["scale"]), min=1)' in text
    assert "@ p[" in text and "F.addmm" not in text
    assert agrees(Distances(), x)


class Options(nn.Module):
    def __init__(self):
        super().__init__()
        self.conv, self.drop = nn.Conv2d(1, 1, 1), nn.Dropout()

    def forward(self, x):
        x = nn.functional.interpolate(self.conv(x), scale_factor=2.0, mode="nearest")
        return self.drop(nn.functional.pad(x, (1, 1), "constant", 0.0))


def test_default_arguments_are_left_out_but_not_the_rate_of_dropout():
    """An integer factor is written as one."""
    text = source(Options(), np.ones((2, 1, 3, 3), np.float32))
    assert "scale_factor=2)" in text and "(1, 1))" in text
    assert "p=0.5, training=training" in text
