"""A table that one framework holds in float32 is replaced, and what follows is compared exactly."""

import functools
import math
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
from torch import Tensor, nn

from jaxgrad.parity import Report, prove
from jaxgrad.parity.prove.jax_side.program import program
from jaxgrad.parity.prove.tables import constants_of, fitted
from tests.jaxgrad.parity.prove._helpers import draw


STEP = -math.log(10000.0) / 4


def table(xp: Any, rows: int = 300) -> Any:
    angles = xp.arange(rows)[:, None] * xp.exp(xp.arange(4) * STEP)
    return xp.concatenate([xp.sin(angles), xp.cos(angles)], 1)


class Encoder(nn.Module):
    """A layer that adds a table of positions, which it holds or computes."""

    pe: Tensor

    def __init__(self, holds: str):
        super().__init__()
        self.linear, self.norm, self.holds = nn.Linear(8, 8), nn.LayerNorm(8), holds
        angles = torch.arange(300).float()[:, None] * torch.exp(torch.arange(4).float() * STEP)
        numbers = torch.cat([torch.sin(angles), torch.cos(angles)], 1)
        if holds == "buffer":
            self.register_buffer("pe", numbers, persistent=False)
        elif holds == "attribute":
            self.pe = numbers

    def forward(self, x: Tensor) -> Tensor:
        if self.holds != "nothing":
            pe = self.pe
        else:
            angles = torch.arange(300).to(x)[:, None] * torch.exp(torch.arange(4).to(x) * STEP)
            pe = torch.cat([torch.sin(angles), torch.cos(angles)], 1)
        return self.norm(torch.tanh(self.linear(x + pe[: x.shape[1]])))


def port(p: Any, x: Any, pe: Any = None, eps: float = 1e-5, shift: int = 0) -> Any:
    pe = jnp.roll(table(jnp) if pe is None else pe, shift, 0)
    h = jnp.tanh((x + pe[: x.shape[1]]) @ p["linear.weight"].T + p["linear.bias"])
    h = (h - h.mean(-1, keepdims=True)) * jax.lax.rsqrt(h.var(-1, keepdims=True) + eps)
    return h * p["norm.weight"] + p["norm.bias"]


def report(holds: str, *, double: bool = False, **options: Any) -> Report:
    torch.manual_seed(0)
    module = Encoder(holds)
    params = {name: x.detach().numpy() for name, x in module.named_parameters()}
    fn = functools.partial(port, **options)
    return prove(module.double() if double else module, fn, params, (draw(2, 5, 8),))


FLOAT32 = table(np).astype(np.float32)


@pytest.mark.parametrize("holds", ["buffer", "attribute"])
def test_a_float32_table_of_torch_is_replaced(holds):
    """Outputs agree to the last digits although only torch's table is in float32."""
    proof = report(holds, double=holds == "buffer").check()

    assert "torch holds pe in float32, off by up to" in str(proof)
    assert "outputs agree within" in proof.surfaces["forward"].text
    assert all(row["difference"] < 1e-14 for row in proof.surfaces["forward"].rows)


@pytest.mark.parametrize("array", [np.asarray, jnp.asarray], ids=["numpy", "jax"])
def test_a_float32_table_of_the_port_is_replaced(array):
    """A port that holds a table in float32 agrees with a module that computes it."""
    proof = report("nothing", pe=array(FLOAT32)).check()

    assert "in float32, off by up to" in str(proof) and "the port holds a table" in str(proof)


@pytest.mark.parametrize(
    ("options", "where"), [({"eps": 1.001e-5}, "norm"), ({"shift": 1}, "(root)")]
)
@pytest.mark.parametrize(("holds", "pe"), [("buffer", None), ("nothing", FLOAT32)])
def test_another_difference_still_fails(holds, pe, options, where):
    """A tiny error beside a table fails, and so does a table of other numbers."""
    proof = report(holds, pe=pe, **options)

    assert proof.first is not None
    assert (proof.first.surface, proof.first.torch) == ("forward", where)


def test_a_table_is_fitted_in_any_layout():
    """A transpose, a reshape and the first rows of a table are recognised, other numbers not."""
    exact = table(np, 6)
    held = exact.astype(np.float32).astype(np.float64)

    for x in (exact, exact.T, exact[None], exact[:4]):
        near = fitted(x, held)
        assert near is not None and 0 < near[1] < 1e-7
        assert np.array_equal(near[0][: len(exact[:4])], exact[:4])
    assert fitted(exact[:4], held)[0][5] == pytest.approx(held[5], abs=0)  # type: ignore[index]
    assert fitted(held, held) == (pytest.approx(held), 0.0)
    for x in (exact + 1e-4, exact[::-1], exact.ravel()):
        assert fitted(x, held) is None


def test_the_constants_of_a_program_are_computed():
    """Constants are found inside `jit`; values that depend on an input are left out."""

    @jax.jit
    def fun(p: Any, x: Any) -> Any:
        return p["w"] * x * jnp.sin(jnp.arange(3.0)) + FLOAT32[:3, 0]

    traced = program(fun, {"w": np.ones(3)}, (np.ones(3),))
    found = list(constants_of(traced))

    assert any(np.array_equal(x, np.sin(np.arange(3.0))) for x in found)
    assert all(x.shape == (3,) for x in found) and len(found) < 6
