"""An error that the port raises names the parameter: its shapes, or the nearest paths."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
from torch import nn

from jaxgrad.parity import prove
from tests.jaxgrad.parity.prove._helpers import arrays, draw


def linear(p: Any, name: str, x: Any) -> Any:
    return x @ p[f"{name}.weight"].T + p[f"{name}.bias"]


def net(p: Any, x: Any) -> Any:
    return linear(p, "2", jnp.tanh(linear(p, "0", x)))


@pytest.fixture
def module() -> nn.Module:
    torch.manual_seed(0)
    return nn.Sequential(nn.Linear(3, 6), nn.Tanh(), nn.Linear(6, 2))


def error(module: nn.Module, fn: Any, params: Any, *shape: int) -> str:
    report = prove(module, fn, params, (draw(*(shape or (4, 3))),))
    assert report.verdict == "error"
    return report.text


def test_a_weight_that_is_transposed_twice_is_named(module: nn.Module):
    """The text has the shape in torch and in params, and says where to transpose."""
    params = arrays(module)
    params["0.weight"] = params["0.weight"].T

    assert error(module, net, params).endswith(
        ". '0.weight' has the shape (3, 6) in params, and torch's 0.weight has (6, 3); with its "
        "axes in the order (1, 0), the shape (6, 3), fn does not raise this error. Transpose it "
        "either in params or in fn, but not in both"
    )


def test_a_weight_that_is_not_transposed_is_named(module: nn.Module):
    """A leaf under another name is paired with torch's by its elements."""
    values = arrays(module)
    params = {"first": {"kernel": values.pop("0.weight"), "bias": values.pop("0.bias")}, **values}

    def fn(p: Any, x: Any) -> Any:
        return linear(p, "2", jnp.tanh(x @ p["first"]["kernel"] + p["first"]["bias"]))

    assert error(module, fn, params).endswith(
        ". 'first/kernel' has the shape (6, 3) in params, and torch's 0.weight has (6, 3); with "
        "its axes in the order (1, 0), the shape (3, 6), fn does not raise this error. Transpose "
        "it in fn: torch's Linear computes x @ weight.T"
    )


def test_a_kernel_in_the_order_of_torch_is_named():
    """A port with flax's order of axes is told which order its kernel needs."""
    torch.manual_seed(0)
    module = nn.Conv2d(3, 4, 3)

    def fn(p: Any, x: Any) -> Any:
        numbers = ("NCHW", "HWIO", "NCHW")
        y = jax.lax.conv_general_dilated(x, p["weight"], (1, 1), "VALID", dimension_numbers=numbers)
        return y + p["bias"][:, None, None]

    text = error(module, fn, arrays(module), 2, 3, 8, 8)
    assert "with its axes in the order (2, 3, 1, 0), the shape (3, 3, 3, 4), fn does not" in text
    assert text.endswith(". Transpose it in fn")


def test_weights_of_several_layers_that_are_not_transposed_lead_to_the_first(module: nn.Module):
    """With the first one transposed, the port raises at a later line."""

    def fn(p: Any, x: Any) -> Any:
        h = jnp.tanh(x @ p["0.weight"] + p["0.bias"])
        return h @ p["2.weight"] + p["2.bias"]

    assert "'0.weight' has the shape (6, 3) in params" in error(module, fn, arrays(module))


def convolved(p: Any, x: Any) -> Any:
    numbers = ("NCH", "OIH", "NCH")
    h = jax.lax.conv_general_dilated(x, p["0.weight"], (1,), "VALID", dimension_numbers=numbers)
    h = h + p["0.bias"]
    return linear(p, "2", h.reshape(len(h), -1))


@pytest.mark.parametrize(
    "fn",
    [
        lambda p, x: net(p, x) @ jnp.ones((5, 3)),
        lambda p, x: jnp.concatenate([net(p, x), x], 0),
        lambda p, x: jnp.linalg.inv(net(p, x)),
    ],
    ids=["product", "concatenate", "inverse"],
)
def test_another_error_is_not_blamed_on_a_right_weight(module: nn.Module, fn: Any):
    """No weight is named if the port raises earlier with this weight transposed."""
    assert "in params" not in error(module, fn, arrays(module))


def test_a_transposed_kernel_that_only_delays_the_error_is_not_named():
    """Without `[:, None]` the bias raises; the transposed kernel has a shape that it fits."""
    torch.manual_seed(0)
    module = nn.Sequential(nn.Conv1d(3, 6, 3), nn.Flatten(), nn.Linear(24, 2))
    assert "in params" not in error(module, convolved, arrays(module), 5, 3, 6)


def test_a_pair_that_is_taken_for_the_output_may_need_has_state(module: nn.Module):
    """If fn returns (outputs, state), the error of the loss says to pass has_state=True."""

    def fn(p: Any, x: Any) -> Any:
        return net(p, x), {}

    loss = (lambda y: y.mean(), lambda y: y.mean())
    report = prove(module, fn, arrays(module), (draw(4, 3),), loss=loss)
    assert report.text.endswith(
        "'tuple' object has no attribute 'mean'. fn returns a pair: if its second part is the new "
        "state, pass has_state=True"
    )
    wrong = prove(module, lambda p, x: [net(p, x)], arrays(module), (draw(4, 3),), loss=loss)
    assert wrong.text.endswith("'list' object has no attribute 'mean'")


def test_the_nearest_paths_of_a_misspelt_parameter_are_listed(module: nn.Module):
    """The error says that params has no such key."""
    text = error(module, lambda p, x: net(p, x) + p["2.bais"], arrays(module))
    assert text.endswith(
        ": '2.bais'. No path in params has the key '2.bais'. The paths are '0.bias', '0.weight', "
        "'2.bias', '2.weight'"
    )


def test_a_missing_parameter_is_described(module: nn.Module):
    """Torch's shape is given."""
    params = arrays(module)
    del params["2.bias"]

    assert (
        "'2.bias'. torch's tensor of this name has the shape (2,): add it to params. "
        "The paths are '0.bias'" in error(module, net, params)
    )


@pytest.mark.parametrize("raised", [KeyError("0.weight"), ValueError("no"), RuntimeError("no")])
def test_an_error_without_a_parameter_gets_no_advice(module: nn.Module, raised: Exception):
    """A key that params has, and an error that no order of axes removes, are shown as they are."""

    def fn(p: Any, x: Any) -> Any:
        del p, x
        raise raised

    assert error(module, fn, arrays(module)).endswith(f": {raised}")


@pytest.mark.parametrize(
    "fn",
    [lambda x, p: x @ p["0.weight"].T, lambda x, p: jnp.tanh(x) @ p["0.weight"].T],
    ids=["a key of an array", "a dict as an array"],
)
def test_a_port_that_takes_its_params_last_is_told_the_order(module: nn.Module, fn: Any):
    text = error(module, fn, arrays(module))
    assert text.endswith("fn is called as fn(params, *inputs): does it take params first?")


def test_a_scalar_and_a_square_matrix_are_not_tried():
    """Their shape is the same in every order."""
    module = nn.Linear(3, 3)
    text = error(module, lambda p, x: x @ p["weight"] + np.ones(5), arrays(module))
    assert "in params" not in text
