"""The data flow of a program is traced even if its layers run under `scan` and `checkpoint`."""

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import torch
from jax import lax
from torch import Tensor, nn

from jaxgrad.parity import Report, prove
from jaxgrad.parity.prove.jax_side import program as jax_program
from jaxgrad.parity.prove.jax_side.flow import Flow, leaf_key, leaf_of, place
from parity_tests.case import identity
from tests.jaxgrad.parity.prove._helpers import arrays, draw


class Block(nn.Module):
    def __init__(self):
        super().__init__()
        self.scale = nn.Parameter(torch.rand(4) + 0.5)
        self.query = nn.Linear(4, 4, bias=False)

    def forward(self, x: Tensor) -> Tensor:
        y = x * torch.rsqrt(x.pow(2).mean(-1, keepdim=True) + 1e-5) * self.scale
        return x + (self.query(y) @ y.mT).softmax(-1) @ y


def stacked(
    eps: float = 1e-5,
    stop_query: Callable[[Any], Any] = identity,
) -> tuple[Report, int]:
    torch.manual_seed(0)
    module = nn.Sequential(Block(), Block())
    state = arrays(module)
    p = {
        name: np.stack([state[f"{i}.{name}"] for i in (0, 1)]) for name in ("scale", "query.weight")
    }

    def norm(x: Any, scale: Any) -> Any:
        size = jnp.mean(x**2, -1, keepdims=True)
        return x * lax.rsqrt(size + eps) * scale

    @jax.checkpoint
    def block(x: Any, p: Any) -> Any:
        y = norm(x, p["scale"])
        query = y @ stop_query(p["query.weight"]).T
        scores = query @ y.swapaxes(1, 2)
        return x + jax.nn.softmax(scores) @ y, None

    def apply(p: Any, x: Any) -> Any:
        return lax.scan(block, x, p)[0]

    return prove(module, apply, p, (draw(2, 3, 4),)), norm.__code__.co_firstlineno


def test_the_line_of_a_bug_inside_a_scan_is_reported():
    """A wrong eps inside a scanned, checkpointed layer is reported with its source line."""
    right, _ = stacked()
    right.check()
    wrong, line = stacked(eps=1e-6)
    assert wrong.first is not None
    assert wrong.first.torch == "0"
    assert wrong.first.jax.startswith(f"test_flow.py:{line + 2} ")


def test_the_stop_gradient_of_a_weight_is_reported():
    """The stop_gradient of a weight is reported, but not the one inside softmax."""
    wrong, line = stacked(stop_query=lax.stop_gradient)
    assert wrong.first is not None
    assert (wrong.first.surface, wrong.first.torch) == ("structure", "0.query.weight")
    assert f"test_flow.py:{line + 7} (stop_gradient)" in wrong.first.cause


def flow_of(fun: Callable[..., Any], *inputs: Any) -> Flow:
    with jax.enable_x64(True):
        return Flow(jax_program.program(fun, {}, inputs))


def test_ancestors_include_the_leaves():
    """The ancestors of an output include only the leaves that it depends on."""
    flow = flow_of(lambda _, x, y: jnp.sin(x), np.ones(3), np.ones(3))
    ancestors = flow.back(flow.outputs[0], set())

    assert leaf_key(0) in ancestors and leaf_key(1) not in ancestors
    assert leaf_of(leaf_key(1)) == 1


def test_a_carry_depends_on_its_previous_iteration():
    """A carry depends on the initial values of all carries that it is computed from."""

    def body(carry: Any, _: Any) -> Any:
        a, b = carry
        return (jnp.sin(b), jnp.cos(a)), None

    flow = flow_of(lambda _, x, y: lax.scan(body, (x, y), None, length=2)[0][0], 1.0 * X, 2.0 * X)

    assert {leaf_key(0), leaf_key(1)} <= flow.back(flow.outputs[0], set())


def test_stops_between_values_are_listed_in_order():
    """All stop_gradients between a leaf and an output are listed in program order."""
    flow = flow_of(lambda _, x: lax.stop_gradient(jnp.sin(lax.stop_gradient(x))), X)
    stops = flow.between([leaf_key(0)], set(flow.outputs[0]), set(), "stop_gradient")

    assert len(stops) == 2 and flow.order[stops[0]] < flow.order[stops[1]]


def test_the_place_of_a_leaf_is_its_path():
    """A leaf is located by its path, and any other value by its source line."""
    flow = flow_of(lambda _, x: jnp.sin(x), X)

    assert place(flow.program, leaf_key(0)) == "0"
    assert place(flow.program, flow.outputs[0][0]).startswith("test_flow.py:")


X = np.ones(3)
