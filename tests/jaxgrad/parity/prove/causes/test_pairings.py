"""`prove` names the pairs of elements that a rotary embedding rotates, in both programs."""

from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
import torch
from torch import nn

from jaxgrad.parity import Report, prove
from tests.jaxgrad.parity.prove._helpers import arrays, draw


SIZE = 6
HALF = SIZE // 2


def tables() -> tuple[torch.Tensor, torch.Tensor]:
    """Return the cosine and the sine of each position and frequency."""
    angles = torch.outer(torch.arange(5.0), 10.0 ** -torch.arange(HALF))
    return angles.cos(), angles.sin()


def appended(x: Any, cos: Any, sin: Any) -> Any:
    """Rotate pairs from the two halves of the axis, as most code bases do."""
    turned = torch.cat((-x[..., HALF:], x[..., :HALF]), -1)
    return x * torch.cat((cos, cos), -1) + turned * torch.cat((sin, sin), -1)


def complex_(x: Any, cos: Any, sin: Any) -> Any:
    """Rotate complex numbers, whose parts are neighbours."""
    pairs = torch.view_as_complex(x.reshape(*x.shape[:-1], -1, 2))
    return torch.view_as_real(pairs * torch.complex(cos, sin)).flatten(-2)


class Rotated(nn.Module):
    """Two layers of scores between rotated queries and keys."""

    def __init__(self, rotate: Any, key: bool = True):
        super().__init__()
        self.rotate, self.key = rotate, key
        self.q = nn.ModuleList(nn.Linear(4, SIZE) for _ in range(2))
        self.k = nn.ModuleList(nn.Linear(4, SIZE) for _ in range(2))
        for name, table in zip(("cos", "sin"), tables(), strict=True):
            self.register_buffer(name, table)

    def forward(self, x):
        for q, k in zip(self.q, self.k, strict=True):
            rotated = [self.rotate(layer(x), self.cos, self.sin) for layer in (q, k)]
            scores = rotated[0] @ rotated[1].mT
            x = scores.softmax(-1) @ x + rotated[0][..., :4]
        return x


def port(halves: bool, key: bool = True) -> Any:
    """Return the port; without `key` the keys are not rotated."""

    def rotate(x: Any, cos: Any, sin: Any) -> Any:
        a, b = (x[..., :HALF], x[..., HALF:]) if halves else (x[..., ::2], x[..., 1::2])
        parts = [a * cos - b * sin, b * cos + a * sin]
        return jnp.concatenate(parts, -1) if halves else jnp.stack(parts, -1).reshape(x.shape)

    def apply(p: Any, x: Any) -> Any:
        for n in range(2):
            q, k = (x @ p[f"{c}.{n}.weight"].T + p[f"{c}.{n}.bias"] for c in "qk")
            q = rotate(q, p["cos"], p["sin"])
            k = rotate(k, p["cos"], p["sin"]) if key else k
            scores = q @ k.mT
            weights = jnp.exp(scores - scores.max(-1, keepdims=True))
            x = weights / weights.sum(-1, keepdims=True) @ x + q[..., :4]
        return x

    return apply


def proof(rotate: Any, fn: Any) -> Report:
    torch.manual_seed(0)
    module = Rotated(rotate)
    return prove(module, fn, arrays(module), (draw(2, 5, 4),))


@pytest.mark.parametrize(("rotate", "halves"), [(appended, True), (complex_, False)])
def test_other_pairs_are_named_in_all_layers(rotate, halves):
    """The cause has the first pairs of both programs; all four rotations are changed at once."""
    proof(rotate, port(halves)).check()
    first = proof(rotate, port(not halves)).first

    names = {True: f"(0, {HALF}), (1, {HALF + 1}), ...", False: "(0, 1), (2, 3), ..."}
    assert first is not None
    assert first.cause == (
        f"JAX pairs the elements {names[not halves]} of the last axis, torch pairs "
        f"{names[halves]} (rerunning torch with this change in all 4 places reproduces JAX's "
        "outputs)"
    )


def test_a_key_that_is_not_rotated_in_any_layer_is_one_mistake():
    """The call that reads another value is changed in both layers at once."""
    report = proof(appended, port(True, key=False))

    assert report.first is not None and str(report).count("divergence: forward") == 1
    assert "torch's reads the result of add" in report.first.cause
    assert "reproduces JAX's outputs if all 2 calls at" in report.first.cause


def test_a_table_of_equal_halves_may_be_read_by_half():
    """A correct port that takes one of two equal halves of a table passes."""

    class Scaled(nn.Module):
        def __init__(self):
            super().__init__()
            table = tables()[0]
            self.register_buffer("table", torch.cat((table, table), -1))
            self.l = nn.Linear(4, SIZE)

        def forward(self, x):
            return self.l(x) * self.table

    module = Scaled()

    def apply(p: Any, x: Any) -> Any:
        y = (x @ p["l.weight"].T + p["l.bias"]).reshape(*x.shape[:-1], 2, HALF)
        return (y * p["table"][:, None, :HALF]).reshape(*x.shape[:-1], SIZE)

    prove(module, apply, arrays(module), (np.asarray(draw(2, 5, 4)),)).check()


def test_the_same_line_may_compute_scalars_too():
    """A line such as `x * scale + table` makes the same call on values of other shapes."""

    class Sums(nn.Module):
        table: torch.Tensor

        def __init__(self):
            super().__init__()
            self.l = nn.Linear(4, SIZE)
            self.register_buffer("table", torch.cat(tables(), -1))

        def forward(self, x):
            y = self.l(x)
            return ((y * 2) * (y.sum() * 2) * (self.table * 2)).sum() * 2

    torch.manual_seed(0)
    module = Sums()

    def apply(p: Any, x: Any) -> Any:
        y = x @ p["l.weight"].T + p["l.bias"]
        table = jnp.stack(jnp.split(p["table"], 2, -1), -1).reshape(p["table"].shape)
        return ((y * 2) * (y.sum() * 2) * (table * 2)).sum() * 2

    report = prove(module, apply, arrays(module), (draw(2, 5, 4),))

    assert report.verdict == "fail" and "bug in jaxgrad" not in str(report)
    assert report.first is not None and report.first.torch == "(root)"
