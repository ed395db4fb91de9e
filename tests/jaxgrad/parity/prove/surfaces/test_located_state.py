"""A buffer that the forward pass leaves wrong is located as a wrong output is."""

import inspect
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
from jax import lax
from torch import Tensor, nn

from jaxgrad.parity import Report, prove
from tests.jaxgrad.parity.prove._helpers import arrays, draw


class Target(nn.Module):
    """A network with a target network and a center, which each forward pass updates."""

    center: Tensor
    count: Tensor

    def __init__(self):
        super().__init__()
        self.online, self.target = nn.Linear(3, 2), nn.Linear(3, 2)
        self.target.requires_grad_(False)
        self.register_buffer("center", torch.randn(2))
        self.register_buffer("count", torch.ones(2))

    def forward(self, x: Tensor) -> Tensor:
        online = self.online(x)
        with torch.no_grad():
            target = self.target(x)
            centered = target - self.center
            self.count.mul_(0.9).add_(target.square().sum(0), alpha=0.1)
            self.center = 0.8 * self.center + 0.2 * target.mean(0)
            for a, b in zip(self.online.parameters(), self.target.parameters(), strict=True):
                b.data.mul_(0.75).add_(a.data, alpha=0.25)
        return online - centered


def port(
    p: Any, x: Any, tau: float = 0.75, decay: float = 0.9, rate: float = 0.8, share: float = 1.0,
    statistic: Any = lambda target, _: target.mean(0),
) -> Any:  # fmt: skip
    """Return the outputs and the new state; each argument is one way to be wrong."""

    def linear(name: str) -> Any:
        return x @ p[f"{name}.weight"].T + p[f"{name}.bias"]

    online, target = linear("online"), lax.stop_gradient(linear("target"))
    new = {
        "count": decay * p["count"] + share * (1 - decay) * (target**2).sum(0),
        "center": rate * p["center"] + (1 - rate) * statistic(target, online),
    }
    for name in ("weight", "bias"):
        new[f"target.{name}"] = tau * p[f"target.{name}"] + (1 - tau) * p[f"online.{name}"]
    outputs = online - (target - p["center"])
    return outputs, jax.tree.map(lax.stop_gradient, new)


def proved(fn: Any, **options: Any) -> Report:
    torch.manual_seed(0)
    module = Target()

    def trained(path: str) -> bool:
        return path.startswith("online")

    return prove(
        module, fn, arrays(module), (draw(4, 3),), has_state=True, trainable=trained, **options
    )


def line(fn: Any, text: str) -> int:
    """Return the number of the first line of a function with a text."""
    lines, start = inspect.getsourcelines(fn)
    return next(n for n, x in enumerate(lines, start) if text in x)


def test_a_right_port_passes():
    assert proved(port).verdict == "pass"


@pytest.mark.parametrize(
    ("setting", "text", "cause", "all_"),
    [
        ({"decay": 0.1}, '"count": decay', "0.1 and 0.9, torch uses 0.9 and 0.1", ""),
        ({"rate": 0.6}, '"center": rate', "0.6 and 0.4, torch uses 0.8 and 0.2", ""),
        (
            {"tau": 0.9},
            "tau * p",
            "0.9 and 0.1, torch uses 0.75 and 0.25",
            " if all 2 such averages are changed",
        ),
    ],
    ids=["in place", "assigned", "data of parameters"],
)
def test_the_weights_of_an_average_are_named_with_the_line(setting, text, cause, all_):
    """The line of the port is named, whether torch updates in place or assigns."""
    first = proved(lambda p, x: port(p, x, **setting)).first
    assert first is not None and first.surface == "updates" and first.tested
    assert first.jax.startswith(f"test_located_state.py:{line(port, text)}")
    assert first.cause == (
        f"the weights of the average are {cause} (rerunning torch with this change reproduces "
        f"JAX's outputs and new state{all_})"
    )


def test_two_averages_are_found_one_after_the_other():
    surface = proved(lambda p, x: port(p, x, tau=0.9, rate=0.6)).surfaces["updates"]
    assert len(surface.findings) == 2 and all(f.tested for f in surface.findings)
    first, second = (f.cause for f in surface.findings)
    assert first == (
        "the weights of the average are 0.9 and 0.1, torch uses 0.75 and 0.25 (rerunning torch "
        "with this change reproduces JAX's target.weight and target.bias if all 2 such averages "
        "are changed, and with the change below its outputs and new state)"
    )
    assert second.startswith("the weights of the average are 0.6 and 0.4, torch uses 0.8 and 0.2")


def test_a_statistic_of_another_value_is_located():
    """The center is the mean of the outputs of the online network in the port."""
    first = proved(lambda p, x: port(p, x, statistic=lambda _, online: online.mean(0))).first
    assert first is not None and first.surface == "updates" and first.op == "mean"
    assert "The new value of center is off by" in first.text
    assert "JAX's mean reads the result of online (linear), torch's reads" in first.cause


def test_a_lost_number_is_named():
    """The port adds the whole statistic to the part that stays."""
    first = proved(lambda p, x: port(p, x, share=10.0)).first
    assert first is not None and first.tested
    assert first.cause.startswith("alpha is 1, torch uses 0.1 (rerunning torch with 1 reproduces")


def test_an_unknown_change_is_placed_without_a_cause():
    first = proved(lambda p, x: port(p, x, statistic=lambda x, _: jnp.exp(jnp.sin(x)).sum(0))).first
    assert first is not None and not first.tested and not first.cause
    assert first.torch_line and first.op == "mean", first


def test_a_suggested_change_is_proved_again():
    """The edit is printed, because the new state agrees with it."""

    def wrong(p: Any, x: Any) -> Any:
        outputs, new = port(p, x)
        target = lax.stop_gradient(x @ p["target.weight"].T + p["target.bias"])
        mean = jnp.sqrt(jnp.mean(target**2, axis=1))
        new["norm"] = 0.9 * p["norm"] + 0.1 * mean
        return outputs, new

    class WithNorm(Target):
        def __init__(self):
            super().__init__()
            self.register_buffer("norm", torch.ones(2))

        def forward(self, x: Tensor) -> Tensor:
            with torch.no_grad():
                mean = self.target(x).square().mean(0).sqrt()
                self.norm = 0.9 * self.norm + 0.1 * mean
            return super().forward(x)

    torch.manual_seed(0)
    module = WithNorm()
    report = prove(
        module, wrong, arrays(module), (np.float64(draw(2, 3)),), has_state=True,
        trainable=lambda path: path.startswith("online"),
    )  # fmt: skip
    first = report.first
    assert first is not None and first.surface == "updates"
    assert first.edit is not None, report
    assert "axis=0" in first.edit.new and first.edit.complete
