"""The figure of kept gradients shows those of a fresh run of torch."""

import pytest
import torch

from parity_tests.figures import kept_gradients
from parity_tests.figures.run import tensors


def test_the_norms_are_those_of_a_plain_run():
    """Each bar is the norm of `h.grad` of a recurrent network written out by hand."""
    given = tensors(kept_gradients.CASE)
    cell = {name: w.requires_grad_() for name, w in given["cell"].items()}
    h, kept = torch.zeros(given["x"].shape[1], 4, dtype=torch.float64), []
    for step in given["x"]:
        h = torch.tanh(step @ cell["input"].T + h @ cell["recurrent"].T)
        h.retain_grad()
        kept.append(h)
    torch.nn.functional.mse_loss(h, given["y"]).backward()
    fresh = [value.grad.norm().item() for value in kept]
    record = kept_gradients.record()

    assert record.torch == pytest.approx(fresh, rel=1e-12)
    assert record.jax == pytest.approx(fresh, rel=1e-12)


def test_a_bar_follows_its_number():
    """A larger norm draws another picture."""
    record = kept_gradients.record()

    assert kept_gradients.draw(record) != kept_gradients.draw(
        record._replace(jax=tuple(2 * norm for norm in record.jax))
    )
