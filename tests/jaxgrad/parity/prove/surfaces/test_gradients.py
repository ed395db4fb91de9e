"""The gradients check finds a stop_gradient on one use of a tied weight."""

from typing import Any

import jax.numpy as jnp
import numpy as np
import pytest
import torch
from jax import lax
from torch import Tensor, nn

from jaxgrad.parity import prove
from tests.jaxgrad.parity.prove._helpers import arrays, draw


def test_a_stop_gradient_on_one_use_of_a_weight_is_reported():
    """A stop_gradient on one use of a tied weight is reported as the likely cause."""
    torch.manual_seed(0)

    class Tied(nn.Module):
        def __init__(self):
            super().__init__()
            self.embed = nn.Embedding(6, 3)

        def forward(self, ids: Tensor) -> Tensor:
            return torch.tanh(self.embed(ids)) @ self.embed.weight.T

    module = Tied()

    def apply(p: Any, ids: Any) -> Any:
        embed = p["embed.weight"]
        return jnp.tanh(embed[ids]) @ lax.stop_gradient(embed).T

    first = prove(module, apply, arrays(module), (np.array([[1, 4, 2, 0]]),)).first
    assert first is not None
    assert (first.surface, first.torch) == ("gradients", "embed.weight")
    line = apply.__code__.co_firstlineno + 2
    assert f"an extra stop_gradient at test_gradients.py:{line} (stop_gradient)" in first.cause
    assert first.cause.endswith("(rerunning JAX without it, all gradients agree)")


class Weighted(nn.Module):
    """A layer and a frozen copy of it, both of whose outputs are weighted by an input."""

    def __init__(self):
        super().__init__()
        self.layer, self.frozen = nn.Linear(3, 2), nn.Linear(3, 2)

    def forward(self, x: Tensor, weight: Tensor) -> Tensor:
        with torch.no_grad():
            target = self.frozen(x) * weight
        return self.layer(x) * weight - target


@pytest.mark.parametrize(
    ("weight", "verdict"),
    [([[1.0], [0.0], [1.0], [1.0]], "pass"), ([[1.0], [0.5], [2.0], [1.0]], "fail")],
)
def test_the_gradient_of_a_mask_is_not_judged(weight, verdict):
    """A port may stop the frozen weights alone if the other input is a mask of zeros and ones."""
    torch.manual_seed(0)
    module = Weighted()

    def apply(p: Any, x: Any, weight: Any) -> Any:
        x = lax.stop_gradient(x)
        frozen = lax.stop_gradient(p["frozen.weight"]), lax.stop_gradient(p["frozen.bias"])
        first = x @ p["layer.weight"].T + p["layer.bias"]
        return first * weight - (x @ frozen[0].T + frozen[1]) * weight

    module.register_forward_pre_hook(lambda _, args: (args[0].detach(), args[1]))
    report = prove(module, apply, arrays(module), (draw(4, 3), np.array(weight)))
    assert report.verdict == verdict, report
    note = (
        "the gradient of input 1, which holds only zeros and ones, differs; this is not judged, "
        "because a mask is data"
    )
    assert (note in report.notes) == (verdict == "pass")


def test_the_gradient_of_a_mask_is_judged_in_a_module_without_parameters():
    """Where the inputs' gradients are all there is, a missing gradient of a mask fails."""
    module = nn.L1Loss()
    apply = lambda _, x, y: jnp.mean(jnp.abs(lax.stop_gradient(x) - y))  # noqa: E731
    inputs = np.array([1.0, 0.0, 1.0]), np.array([0.3, 0.6, -1.0])
    assert prove(module, apply, {}, inputs).verdict == "fail"


class Looked(nn.Module):
    """An embedding whose output may be detached; its inputs have no gradient."""

    def __init__(self, detaches: bool):
        super().__init__()
        self.embed, self.detaches = nn.Embedding(5, 3), detaches

    def forward(self, ids: Tensor) -> Tensor:
        return self.embed(ids).detach() if self.detaches else self.embed(ids)


@pytest.mark.parametrize(
    ("torchs", "jaxs", "verdict", "text"),
    [
        (False, True, "fail", "torch computes 1 gradient, but JAX computes none"),
        (True, False, "fail", "JAX computes 1 gradient, but torch computes none"),
        (True, True, "error", "neither torch's output nor JAX's depends on a trained weight"),
    ],
)
def test_a_framework_without_any_gradient_is_named(torchs, jaxs, verdict, text):
    """If one program stops every gradient the report says which; if both do, that both do."""
    module = Looked(torchs)

    def apply(p: Any, ids: Any) -> Any:
        y = p["embed.weight"][ids]
        return lax.stop_gradient(y) if jaxs else y

    report = prove(module, apply, arrays(module), (np.array([0, 1, 4]),))

    assert report.verdict == verdict and text in str(report)
    if verdict == "fail":
        assert report.first is not None and report.first.torch == "embed.weight"
