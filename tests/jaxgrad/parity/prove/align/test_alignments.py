"""Each draw has its own alignment where torch's calls depend on the numbers."""

from types import SimpleNamespace
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
from jax import lax
from torch import Tensor, nn

from jaxgrad.parity import Report, prove
from jaxgrad.parity.prove.align.alignments import aligned
from jaxgrad.parity.prove.align.fingerprint import fingerprint
from jaxgrad.parity.prove.record.jax_side.evaluation import Watched
from jaxgrad.parity.prove.record.torch_side.values import Value
from parity_tests.case import identity
from tests.jaxgrad.parity.prove._helpers import arrays, draw


class Experts(nn.Module):
    """Three experts, of which each token uses one; an expert without tokens is not called."""

    def __init__(self):
        super().__init__()
        self.router = nn.Linear(4, 3, bias=False)
        self.experts = nn.ModuleList(nn.Linear(4, 4) for _ in range(3))

    def forward(self, x: Tensor) -> Tensor:
        weight, chosen = self.router(x).softmax(-1).max(-1)
        y = torch.zeros_like(x)
        for number, expert in enumerate(self.experts):
            rows = (chosen == number).nonzero().squeeze(-1)
            if len(rows):
                y = y.index_add(0, rows, weight[rows, None] * torch.tanh(expert(x[rows])))
        return x + y


def experts(rows: int, *, stop: Any = identity, act: Any = jnp.tanh) -> Report:
    """Prove a port that computes all experts at once, from stacked weights."""
    torch.manual_seed(0)
    module = Experts()
    state = arrays(module)
    params = {
        "router": state["router.weight"],
        "w": np.stack([state[f"experts.{k}.weight"] for k in range(3)]),
        "b": np.stack([state[f"experts.{k}.bias"] for k in range(3)]),
    }

    def port(p: Any, x: Any) -> Any:
        gates = jax.nn.softmax(x @ p["router"].T)
        used = jax.nn.one_hot(jnp.argmax(gates, -1), 3) * stop(jnp.max(gates, -1, keepdims=True))
        y = act(jnp.einsum("ni,koi->nko", x, p["w"]) + p["b"])
        return x + jnp.einsum("nk,nko->no", used, y)

    return prove(module, port, params, (draw(rows, 4),))


def test_an_expert_without_tokens_is_no_difference():
    """A port with stacked experts passes, although torch computes no gradient for some of them."""
    report = experts(2)
    assert report.verdict == "pass", report
    assert not any("keeps the given values" in note for note in report.notes)


@pytest.mark.slow
def test_a_wrong_activation_is_found_where_an_expert_has_no_token():
    """The forward pass is judged, not the missing gradient of an expert without tokens."""
    report = experts(2, act=jnp.sin)
    assert report.surfaces["structure"].verdict == "pass", report
    assert report.first is not None and report.first.surface == "forward"


def test_a_stopped_gate_is_found_where_an_expert_has_no_token():
    """A gradient that differs is located although the draws make different calls."""
    report = experts(2, stop=lax.stop_gradient)
    assert report.first is not None, report
    assert report.first.surface in ("backward", "structure")
    assert "stop_gradient" in report.first.cause


def drawn(*arrays: np.ndarray, module: str = "") -> Any:
    """Return torch's run of one draw, whose values are these."""
    values = [Value(module, "sin", (), x.shape, fingerprint(x)) for x in arrays]
    return SimpleNamespace(run=SimpleNamespace(values=values), reruns=[])


def watched(*arrays: np.ndarray) -> Watched:
    """Return the port's run, in which equation n computes array n."""
    return Watched([], {((n,), 0): fingerprint(x) for n, x in enumerate(arrays)})


A, B, C = np.random.default_rng(0).standard_normal((3, 2, 4))


def test_a_pair_must_be_equal_on_all_draws():
    """Equal calls share one alignment, in which only values that always agree are paired."""
    both = aligned([drawn(A, B), drawn(B, C)], [watched(B, A), watched(A, B)])
    assert both[0] is both[1] and both[0].candidates == ((1,), ())
    assert [spot.path for spot in both[0].spots] == [(0,), (1,)]


def test_draws_with_other_calls_are_aligned_alone():
    """A call that only one draw makes, or in another module, separates the draws."""
    for second in (drawn(A), drawn(B, C, module="fc")):
        one, other = aligned([drawn(A, B), second], [watched(B, A), watched(A, C)])
        assert one.candidates == ((1,), (0,))
        assert other.candidates == (((0,),) if len(second.run.values) == 1 else ((), (1,)))
    (single,) = aligned([drawn(A)], [watched(B, A)])
    assert single.candidates == ((1,),) and len(single.spots) == 2
