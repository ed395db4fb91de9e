"""A module's weight map is given by the user or inferred, and mistakes raise errors."""

from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
import torch
from torch import nn

from jaxgrad.parity import ProofError, prove
from jaxgrad.parity.prove.weights.resolve import weight_map


W = np.random.default_rng(0).standard_normal((3, 2)).astype(np.float32).astype(np.float64)


class Side:
    """A torch model with a single weight."""

    def __init__(self):
        self.state = {"fc.weight": W, "steps": np.array(3)}
        self.flags = {"fc.weight": True}
        self.names = {"fc.weight": "fc.weight"}

    def state_dict(self, values: dict[str, Any]) -> dict[str, Any]:
        return dict(values)


def resolved(params: Any, weights: Any = None) -> Any:
    side: Any = Side()
    return weight_map(side, lambda params, x: x, params, weights)


def test_a_transposed_weight_is_inferred():
    """A transposed weight is inferred, and integer buffers are ignored."""
    params, mapped = resolved({"kernel": W.T})

    assert list(params) == ["kernel"]
    assert mapped.names_of(0) == ["fc.weight"] and list(mapped.tensors) == ["fc.weight"]


def test_a_converter_makes_the_params():
    """A converter produces the params, and the map holds torch's own values."""
    params, mapped = resolved(None, lambda state: {"kernel": state["fc.weight"].T})

    assert params["kernel"].shape == (2, 3)
    assert np.array_equal(mapped.to_jax(mapped.tensors)[0], W.T)


def test_a_mapping_is_read():
    """A dict from torch names to paths and axes is accepted as a weight map."""
    _, mapped = resolved({"kernel": W.T}, {"fc.weight": ("kernel", (1, 0))})

    assert np.array_equal(mapped.to_jax(mapped.tensors)[0], W.T)


@pytest.mark.parametrize(
    ("params", "weights", "words"),
    [
        ({}, None, "params contains no array"),
        ({"w": np.full(2, np.nan)}, None, "leaf 'w' contains NaN"),
        (
            {"kernel": W.T + 1e-3},
            None,
            "'kernel' .2, 3. holds no torch tensor; torch's 'fc.weight' has the same size but",
        ),
        (
            None,
            lambda state: {"x": np.sort(np.array(state["fc.weight"].tolist()))},
            "weights= computes leaf 'x' in a way that is not linear",
        ),
        (
            None,
            lambda state: {"fc": state["weight"]},
            "weights= looked up 'weight', but the state_dict has only",
        ),
    ],
)
def test_an_unknown_map_is_explained(params, weights, words):
    """Params and converters that do not fit the module give an explanatory error."""
    with pytest.raises(ProofError, match=words):
        resolved(params, weights)


def test_a_converter_may_not_change_between_calls():
    """A converter that returns other values in each call fails."""
    calls = []

    def convert(state: Any) -> Any:
        calls.append(None)
        return {"x": state["fc.weight"] * len(calls)}

    with pytest.raises(ProofError, match="weights= computes leaf 'x' in a way that is not linear"):
        resolved(None, convert)


def test_a_converter_may_compute_new_values():
    """Linear leaves become pieces, constants stay, and other leaves have a rule."""

    def convert(state: Any) -> Any:
        w = state["fc.weight"]
        return {"half": w / 2, "norm": (w**2).sum(), "table": np.arange(3.0)}

    _, mapped = resolved(None, convert)
    half, norm, table = mapped.to_jax({"fc.weight": 2 * W})

    assert np.array_equal(half, W) and np.array_equal(table, np.arange(3.0))
    assert np.allclose(norm, np.sum(4 * W**2))
    grads = mapped.to_torch([np.ones((3, 2)), np.ones(()), None], {"fc.weight": 2 * W})
    assert np.allclose(grads["fc.weight"], 0.5 + 4 * W)
    assert mapped.names_of(1) == ["fc.weight"] and mapped.leaves_of("fc.weight") == [0, 1]


@pytest.mark.parametrize("params", [{}, None])
@pytest.mark.parametrize("power", [1, 2])
def test_a_loss_without_weights_is_proved(params, power):
    """A module without parameters needs no params, and its port's mistakes are found."""
    inputs = np.array([1.0, 0.5, 2.0]), np.array([0.3, 0.6, -1.0])
    port = lambda _, x, y: (abs(x - y) ** power).mean()  # noqa: E731
    report = prove(nn.L1Loss(), port, params, inputs)
    assert report.verdict == ("pass" if power == 1 else "fail"), report


def test_a_converter_may_make_complex_params():
    """Complex weights are converted with complex test values, and compared."""

    class Rotation(nn.Module):
        def __init__(self) -> None:
            super().__init__()
            self.turn = nn.Parameter(torch.tensor([1 + 2j, 3 - 1j]))

        def forward(self, x: torch.Tensor) -> torch.Tensor:
            return (x * self.turn).real

    def verdict(port: Any) -> str:
        def converter(state: Any) -> dict[str, Any]:
            return {"turn": state["turn"]}

        return prove(Rotation(), port, None, (np.ones((3, 2)),), weights=converter).verdict

    assert verdict(lambda p, x: jnp.real(x * p["turn"])) == "pass"
    assert verdict(lambda p, x: jnp.imag(x * p["turn"])) == "fail"
