"""The figure of the ring ends with the mean that torch's DDP leaves on every rank."""

import jax
import pytest

from parity_tests.cases import distributed as programs
from parity_tests.figures import ring
from parity_tests.figures.run import arrays


def test_the_ring_gives_every_rank_the_mean():
    """The numbers start as the ranks' own gradients and end as the gradient of the mean loss."""
    record = ring.record()
    given = arrays(ring.CASE)

    gradient = jax.jit(jax.grad(programs.mlp_loss))

    def own(rank):
        x, y = (given[name][2 * rank : 2 * rank + 2] for name in "xy")
        return gradient(given["net"], x, y)["l2"]["bias"][0].item()

    fresh = [own(rank) for rank in range(ring.RANKS)]

    assert record.sums[0] == pytest.approx(fresh, rel=1e-12)
    assert record.sums[1][1] == pytest.approx(fresh[0] + fresh[1], rel=1e-12)
    for side in (record.mean, record.torch):
        assert side == pytest.approx([sum(fresh) / 4] * 4, rel=1e-12)
    assert record.share == len(record.sent) / ring.RANKS


def test_a_mean_that_differs_is_drawn_for_both():
    """If torch had another mean, the figure would show both numbers."""
    numbers = tuple((1.0, 2.0, 3.0, 4.0) for _ in range(7))
    record = ring.Record(numbers, (0, 1, 2, 3, 0, 1), (2.5,) * 4, (2.5, 2.5, 2.5, 9.0), 1.5)

    assert "torch 9, JAX 2.5" in ring.draw(record)
