"""The history of L-BFGS keeps the pairs that torch keeps."""

from __future__ import annotations

from typing import Any

import jax.numpy as jnp
import pytest
import torch

from jaxgrad import optim


@pytest.mark.sampled(2)
@pytest.mark.parametrize("curvature, expected", [(3e-4, 0), (6e-4, 1)])
def test_a_pair_with_little_curvature_is_skipped(curvature, expected):
    """As in torch, a pair enters the history only if its curvature `y . s` exceeds 1e-10."""
    options: dict[str, Any] = dict(lr=1.0, max_iter=3, tolerance_grad=0, tolerance_change=0)
    w = torch.ones(1, dtype=torch.float64, requires_grad=True)
    theirs = torch.optim.LBFGS([w], **options)

    def closure() -> Any:
        theirs.zero_grad()
        loss = (curvature / 2 * w * w).sum()
        loss.backward()
        return loss

    theirs.step(closure)
    tx, start = optim.lbfgs(**options), jnp.ones(1)
    _, state = tx.step(
        None, tx.init(start), start, value_fn=lambda w: jnp.sum(curvature / 2 * w * w)
    )

    assert state.num_old == len(theirs.state[w]["old_dirs"]) == expected
