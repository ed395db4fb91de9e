"""A converter that computes new values is differentiated, or the error says how to write it."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
import torch
from torch import Tensor, nn

from jaxgrad.parity import prove
from tests.jaxgrad.parity.prove._helpers import draw


G, V = (f"parametrizations.weight.original{i}" for i in (0, 1))


def normed() -> nn.Module:
    torch.manual_seed(0)
    return nn.utils.parametrizations.weight_norm(nn.Linear(4, 3))


def apply(p: Any, x: Any) -> Any:
    return x @ p["kernel"] + p["bias"]


def by_torch(state: Any) -> Any:
    kernel = state[G] * state[V] / state[V].norm(dim=1, keepdim=True)
    return {"kernel": kernel.T, "bias": state["bias"]}


def by_jax(state: Any) -> Any:
    g, v = jnp.asarray(state[G]), jnp.asarray(state[V])
    return {"kernel": (g * v / jnp.linalg.norm(v, axis=1, keepdims=True)).T,
            "bias": jnp.asarray(state["bias"])}  # fmt: skip


def by_numpy(state: Any) -> Any:
    g, v = np.asarray(state[G]), state[V].detach().numpy()
    return {"kernel": (g * v / np.linalg.norm(v, axis=1, keepdims=True)).T,
            "bias": np.asarray(state["bias"])}  # fmt: skip


@pytest.mark.sampled(3)
@pytest.mark.parametrize("convert", [by_torch, by_jax, by_numpy])
def test_a_folded_weight_norm_has_torchs_gradients(convert):
    """A kernel computed from two tensors is compared through the converter's derivative."""
    prove(normed(), apply, None, (draw(2, 4),), weights=convert).check()


def test_a_wrong_gradient_behind_a_fold_is_found():
    """A port that scales the kernel's gradient fails on both tensors that the kernel is made of."""

    def wrong(p: Any, x: Any) -> Any:
        kernel = p["kernel"]
        return apply({**p, "kernel": 2 * kernel - jax.lax.stop_gradient(kernel)}, x)

    report = prove(normed(), wrong, None, (draw(2, 4),), weights=by_jax)

    assert report.surfaces["gradients"].verdict == "fail", report
    rows = {row["name"]: row["verdict"] for row in report.surfaces["gradients"].rows}
    assert rows[G] == rows[V] == "fail" and rows["bias"] == "pass"


def test_a_detached_tensor_is_not_differentiated_by_torch():
    """A converter that detaches in torch gives zeros there, so another way is taken."""

    def convert(state: Any) -> Any:
        return by_torch({key: x.detach() for key, x in state.items()})

    report = prove(normed(), apply, None, (draw(2, 4),), weights=convert)

    assert report.verdict == "error"
    assert "weights= computes leaf 'kernel' in a way that is not linear" in report.text


def test_a_converter_that_rounds_is_refused():
    """Arithmetic in float32 would differ from torch's float64, so the error names the leaf."""
    convert = lambda s: {"kernel": (s["weight"].float() / 3).T, "bias": s["bias"]}  # noqa: E731
    report = prove(nn.Linear(4, 3), apply, None, (draw(2, 4),), weights=convert)

    assert report.verdict == "error"
    assert "weights= computes leaf 'kernel' in float32: keep the dtype" in report.text


def test_a_converter_that_raises_is_reported():
    """An exception of the converter is one sentence."""
    convert = lambda s: s["weight"].reshape(5)  # noqa: E731
    report = prove(nn.Linear(4, 3), apply, None, (draw(2, 4),), weights=convert)

    assert report.verdict == "error"
    assert "weights=: the converter raised RuntimeError" in report.text


class Attention(nn.Module):
    """A module whose query weights a port may store scaled, and whose table it may store summed."""

    def __init__(self) -> None:
        super().__init__()
        torch.manual_seed(0)
        self.q, self.k = nn.Linear(4, 4), nn.Linear(4, 4)
        self.kinds = nn.Parameter(torch.randn(2, 4))

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.kinds[0]
        return self.q(x) @ self.k(x).T / 2.0


def folded(state: Any) -> Any:
    """Divide the query projection by 2, and add the first kind to both biases."""
    s = {key: x.numpy() for key, x in state.items()}
    return {
        "q": (s["q.weight"].T / 2).astype(s["q.weight"].dtype), "bq": s["q.bias"] / 2,
        "k": s["k.weight"].T, "bk": s["k.bias"], "kind": s["kinds"][0] + 0 * s["kinds"][1],
    }  # fmt: skip


def attend(p: Any, x: Any) -> Any:
    x = x + p["kind"]
    return (x @ p["q"] + p["bq"]) @ (x @ p["k"] + p["bk"]).T


def test_a_folded_scale_is_compared():
    """The gradient of a weight that is scaled in the port is torch's, but its update is not."""
    optimizer = lambda p: torch.optim.SGD(p, 0.1), optax.sgd(0.1)
    report = prove(
        Attention(), attend, None, (draw(3, 4),), weights=folded, optimizer=optimizer, steps=2
    ).check()

    text = report.surfaces["updates"].text
    assert "2 weights are not comparable: q.weight is not, because leaf q holds a multiple" in text


def test_a_wrong_use_of_a_folded_scale_is_found():
    """A port that scales twice fails in the forward pass."""
    wrong = lambda p, x: attend({**p, "q": p["q"] / 2}, x)  # noqa: E731
    report = prove(Attention(), wrong, None, (draw(3, 4),), weights=folded)

    assert report.verdict == "fail"
    assert report.first is not None and report.first.surface == "forward"
