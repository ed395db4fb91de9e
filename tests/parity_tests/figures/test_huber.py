"""The figure of the Huber loss agrees with torch's own `huber_loss`."""

import re

import pytest
import torch

from parity_tests.figures import huber


def test_losses_and_gradients_are_those_of_torchs_function():
    """The custom rule gives torch's Huber loss and its gradient, in both frameworks."""
    x = torch.tensor(huber.ERRORS, dtype=torch.float64, requires_grad=True)
    zeros = torch.zeros_like(x)
    losses = torch.nn.functional.huber_loss(x, zeros, reduction="none", delta=huber.DELTA)
    losses.sum().backward()
    assert x.grad is not None

    for side in huber.record():
        assert side.losses == pytest.approx(losses.tolist(), abs=1e-12)
        assert side.grads == pytest.approx(x.grad.tolist(), abs=1e-12)


def test_the_curves_follow_their_numbers():
    """A gradient that is not cut off draws another curve."""
    record = huber.record()
    uncut = record._replace(torch=record.torch._replace(grads=huber.ERRORS))

    assert huber.draw(uncut) != huber.draw(record)


def test_the_labels_of_the_two_axes_have_room():
    """The lowest label of each vertical axis is 12 pixels away from "−3", in any font."""
    labels = re.findall(
        r'<text x="([\d.]+)" y="([\d.]+)" class="(end|middle) faint">(.*?)</text>',
        huber.draw(huber.record()),
    )
    lowest = {y: float(x) for x, y, kind, _ in labels if kind == "end"}
    places = [(float(x), float(y)) for x, y, kind, words in labels if words == "−3"]

    assert len(places) == 2
    for x, y in places:
        near = [right for other, right in lowest.items() if abs(float(other) - y) < 20]
        assert near and all(x - 10 - right >= 12 for right in near)
