"""A schedule is a function of the step that works inside optax."""

from __future__ import annotations

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
import torch

from jaxgrad.optim import lr_scheduler as jax_lr
from jaxgrad.optim.lr_scheduler._schedule import quotient
from tests.jaxgrad.optim.lr_scheduler.shared import (
    Spec,
    schedule,
    torch_scheduler,
)


def test_division_is_correctly_rounded():
    """`quotient` rounds correctly, unlike XLA, which multiplies by a constant's reciprocal."""
    epochs = np.arange(1000.0)
    for period in (7, 97, 299):

        def exact(t, period=period):
            return quotient(np.pi * t, period)

        expected = np.pi * epochs / period
        np.testing.assert_array_equal(jax.jit(jax.vmap(exact))(epochs), expected)
        np.testing.assert_array_equal([jax.jit(exact)(t) for t in epochs[:100]], expected[:100])
        usual = jax.jit(lambda t, period=period: np.pi * t / period)(epochs)
        assert (np.asarray(usual) != expected).any(), "XLA divides now: remove `quotient`"


def test_before_the_first_step():
    """A negative step, which torch does not have, counts as step 0."""
    lr = jax_lr.exponential_lr(0.5, 0.9)
    assert lr(-3) == lr(0) == jax.jit(lr)(-1) == 0.5
    cycle = jax_lr.cyclic_lr(0.1, 0.1, 1.0, step_size_up=4)
    assert cycle.momentum(-3) == cycle.momentum(0) == 0.9


@pytest.mark.parametrize("inject", (False, True))
def test_in_optax(inject):
    """A schedule as the learning rate of an optax transformation reproduces torch's training."""
    spec: Spec = ("OneCycleLR", dict(max_lr=0.5, total_steps=20, cycle_momentum=False))
    p = torch.nn.Parameter(torch.tensor([1.0, -2.0], dtype=torch.float64))
    optimizer = torch.optim.SGD([p], lr=0.1, momentum=0.9)
    scheduler = torch_scheduler(spec, optimizer)
    lr = schedule(spec, 0.1)
    tx = optax.inject_hyperparams(optax.sgd)(lr, 0.9) if inject else optax.sgd(lr, 0.9)
    w = jnp.array([1.0, -2.0])
    state = tx.init(w)

    @jax.jit
    def step(w, state):
        updates, state = tx.update(jax.grad(lambda w: jnp.sum(w**4))(w), state, w)
        return optax.apply_updates(w, updates), state

    for _ in range(20):
        optimizer.zero_grad()
        (p**4).sum().backward()
        optimizer.step()
        scheduler.step()
        w, state = step(w, state)
    np.testing.assert_allclose(np.asarray(w), p.detach().numpy(), rtol=1e-12)


def test_settings_that_can_never_work():
    """Settings for which torch fails only in a later step are rejected by the constructor."""
    with pytest.raises(ValueError, match="step_size must not be 0, got 0"):
        jax_lr.step_lr(0.1, 0)
    with pytest.raises(ValueError, match="T_max must not be 0, got 0"):
        jax_lr.cosine_annealing_lr(0.1, 0)
    with pytest.raises(ValueError, match="Invalid learning rate: -0.1"):
        jax_lr.step_lr(-0.1, 3)
    with pytest.raises(ValueError, match="last_epoch must be -1 or more, got -2"):
        jax_lr.step_lr(0.1, 3, last_epoch=-2)
