"""ReduceLROnPlateau follows torch's."""

from __future__ import annotations

import inspect
import re
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch
from torch.optim import lr_scheduler as torch_lr

from jaxgrad.optim import lr_scheduler as jax_lr
from tests.jaxgrad.optim.lr_scheduler.shared import (
    initial_lr,
)


def test_arguments_are_those_of_torch():
    """Arguments have torch's names, order and defaults, with `lr` in place of the optimizer."""
    functions = torch_lr.ReduceLROnPlateau, jax_lr.reduce_lr_on_plateau
    theirs, ours = (
        [(p.name, p.default) for p in inspect.signature(f).parameters.values()] for f in functions
    )
    assert ours[1:] == theirs[1:]


def metrics(rng: np.random.Generator) -> np.ndarray:
    """Draw a metric that falls, stalls and jumps, with NaNs and infinities."""
    values = 3 * np.exp(-np.arange(120) / 20) + rng.normal(size=120) * rng.choice([0, 1e-4, 0.1])
    values = np.where(rng.random(120) < 0.3, np.round(values, 1), values)
    values[rng.random(120) < 0.02] = rng.choice([np.nan, np.inf, -np.inf])
    return values * rng.choice([1.0, -1.0])


@pytest.mark.sampled(3)
@pytest.mark.parametrize("x64", (True, False))
@pytest.mark.parametrize("seed", range(12))
def test_reduce_lr_on_plateau(seed, x64):
    """Random options and metrics in a scan give torch's rate, best metric and counters."""
    rng = np.random.default_rng(seed)
    lr, groups = initial_lr(rng)
    floors = [0.0, 1e-3, float(rng.uniform(0, 0.2))]
    options: dict[str, Any] = dict(
        mode=str(rng.choice(["min", "max"])),
        factor=float(rng.choice([0.1, 0.5, 0.9, 0.0])),
        patience=int(rng.integers(0, 6)),
        threshold=float(rng.choice([1e-4, 0.0, 0.1, 1.0])),
        threshold_mode=str(rng.choice(["rel", "abs"])),
        cooldown=int(rng.integers(0, 5)),
        min_lr=[*floors][:groups] if groups > 1 else float(rng.choice(floors)),
        eps=float(rng.choice([1e-8, 0.0, 1e-3])),
    )
    values = metrics(rng).astype("float64" if x64 else "float32")
    lrs = lr if isinstance(lr, list) else [lr]
    params = [{"params": [torch.nn.Parameter(torch.zeros(1))], "lr": x} for x in lrs]
    optimizer = torch.optim.SGD(params)
    theirs, expected = torch_lr.ReduceLROnPlateau(optimizer, **options), []
    for value in values:
        theirs.step(float(value))
        counters = (theirs.num_bad_epochs, theirs.cooldown_counter, theirs.last_epoch)
        expected.append((list(theirs.get_last_lr()), theirs.best, *counters))

    plateau = jax_lr.reduce_lr_on_plateau(lr, **options)

    def step(state, value):
        state = plateau.update(state, value)
        return state, state

    with jax.enable_x64(x64):
        _, states = jax.jit(lambda v: jax.lax.scan(step, plateau.init(), v))(jnp.asarray(values))
    rates, best, bad, cooldown, epochs = map(np.array, zip(*expected, strict=True))
    eps = 1e-15 if x64 else 6e-8
    np.testing.assert_allclose(np.asarray(states.lr).reshape(rates.shape), rates, rtol=eps, atol=0)
    np.testing.assert_array_equal(np.asarray(states.best), best)
    for name, want in (
        ("num_bad_epochs", bad),
        ("cooldown_counter", cooldown),
        ("last_epoch", epochs),
    ):
        np.testing.assert_array_equal(np.asarray(getattr(states, name)), want, err_msg=name)


def test_invalid_settings():
    """An invalid factor or mode, and a list of the wrong length, raise torch's message."""
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=0.1)
    invalid: list[tuple[dict[str, Any], str, str]] = [
        (dict(factor=1.0), "Factor should be < 1.0.", "Got factor=1.0"),
        (dict(mode="x"), "mode x is unknown!", "'min' or 'max'"),
        (dict(threshold_mode="x"), "threshold mode x is unknown!", "'rel' or 'abs'"),
        (dict(min_lr=[0.1, 0.2]), "min_lrs, got 2", "expected 1 "),
    ]
    for kwargs, words, value in invalid:
        with pytest.raises(ValueError, match=re.escape(words)):
            torch_lr.ReduceLROnPlateau(optimizer, **kwargs)
        with pytest.raises(ValueError, match=re.escape(words)) as ours:
            jax_lr.reduce_lr_on_plateau([0.1], **kwargs)
        assert value in str(ours.value)
