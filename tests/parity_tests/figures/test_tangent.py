"""The figure of a tangent has the slope that both frameworks compute."""

import torch

from parity_tests.figures import tangent
from tests.parity_tests.figures.reading import words


def test_the_slope_is_that_of_a_plain_run():
    """The slope and the value at 3 are those of torch, and the point is on the curve."""
    x = torch.tensor(3.0, requires_grad=True)
    y = x**3 - 4 * x + 2
    y.backward()
    record = tangent.record()

    assert x.grad is not None
    assert record.torch == record.jax == x.grad.item()
    assert (record.x, record.value) == (x.item(), y.item())
    assert f"The slope at x = 3 is {x.grad.item():g}" in words(tangent.draw(record))


def test_another_slope_draws_another_tangent():
    """The tangent and its title follow the derivative."""
    other = tangent.record()._replace(torch=5.0)

    assert "The slope at x = 3 is torch 5, JAX 23" in words(tangent.draw(other))
