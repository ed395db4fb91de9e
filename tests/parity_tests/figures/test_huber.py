"""The figure of the Huber loss agrees with torch's own `huber_loss`."""

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
