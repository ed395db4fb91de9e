"""The figure of clipping shows what both frameworks return."""

import numpy as np
import pytest
import torch

from parity_tests.figures import clipping_ball
from parity_tests.figures.canvas import Point


def test_the_points_are_those_of_a_plain_run():
    """Gradients outside are pulled onto the ball or into the square, others stay."""
    record = clipping_ball.record()

    for before, (torch_point, jax_point) in zip(
        clipping_ball.GRADIENTS, record.by_norm, strict=True
    ):
        w = torch.nn.Parameter(torch.zeros(2, dtype=torch.float64))
        w.grad = torch.tensor(before, dtype=torch.float64)
        norm = torch.nn.utils.clip_grad_norm_([w], clipping_ball.BOUND).item()
        assert torch_point == tuple(w.grad.tolist())
        assert jax_point == pytest.approx(torch_point, rel=1e-12)
        assert (jax_point == before) == (norm < clipping_ball.BOUND)
    for before, pair in zip(clipping_ball.GRADIENTS, record.by_value, strict=True):
        assert pair[0] == pair[1] == tuple(np.clip(before, -1, 1))


def test_a_point_that_differs_moves_its_ring():
    """The rings of JAX are drawn at JAX's own numbers."""
    record = clipping_ball.record()
    moved = ((record.by_norm[0][0], Point(0.0, 0.5)), *record.by_norm[1:])

    assert clipping_ball.draw(record._replace(by_norm=moved)) != clipping_ball.draw(record)
    assert "torch 1, JAX 0.5" in clipping_ball.draw(record._replace(by_norm=moved))
