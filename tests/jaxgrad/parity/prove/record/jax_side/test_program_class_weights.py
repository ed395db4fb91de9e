"""The class weights of a loss have no derivative in torch, and `prove` takes none of them."""

from typing import Any

import numpy as np
import pytest
import torch
from torch import nn

import jaxgrad
from jaxgrad import functional, optim
from jaxgrad.parity import prove
from tests.jaxgrad.parity.prove._helpers import arrays


X, LABELS = np.random.default_rng(0).normal(size=(5, 3)), np.array([0, 1, 2, 3, 1])


class Weighted(nn.Module):
    """A classifier whose class weights are a buffer."""

    classes: torch.Tensor

    def __init__(self, smoothing: float = 0.0):
        super().__init__()
        self.fc, self.smoothing = nn.Linear(3, 4), smoothing
        self.register_buffer("classes", torch.tensor([1.0, 2.0, 0.5, 1.5]))

    def forward(self, x, labels):
        return nn.functional.cross_entropy(
            self.fc(x), labels, weight=self.classes, label_smoothing=self.smoothing
        )


def port(p: Any, x: Any, labels: Any, factor: float = 1.0) -> Any:
    return functional.cross_entropy(
        factor * (x @ p["fc.weight"].T) + p["fc.bias"], labels, p["classes"]
    )


@pytest.mark.parametrize("trainable", [None, ["fc.*"]], ids=["all", "two"])
def test_a_port_with_class_weights_in_its_params_is_proved(trainable):
    """`jaxgrad.functional` raises for their derivative, as torch does."""
    torch.manual_seed(0)
    module = Weighted()
    step = (lambda p: torch.optim.SGD(p, lr=0.1)), optim.sgd(lr=0.1)
    report = prove(module, port, arrays(module), (X, LABELS), optimizer=step, trainable=trainable)

    assert report.verdict == "pass", str(report)
    assert "3 gradients (1 of inputs) agree" in str(report)
    assert "in float32, JAX's error" in str(report)


def test_a_mistake_beside_class_weights_is_found():
    torch.manual_seed(0)
    module = Weighted()

    def wrong(p: Any, x: Any, labels: Any) -> Any:
        return port(p, x, labels, factor=2.0)

    assert prove(module, wrong, arrays(module), (X, LABELS)).verdict == "fail"


@pytest.mark.parametrize("style", ["functions", "nnx"])
@pytest.mark.parametrize("smoothing", [0.0, 0.1])
def test_a_module_with_class_weights_is_ported(style, smoothing):
    ported = jaxgrad.port(Weighted(smoothing), (X.astype(np.float32), LABELS), style=style)

    assert ported.report is not None and ported.report.verdict == "pass"
