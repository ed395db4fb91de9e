"""Sentences of the notebooks that no displayed case proves, each proved by a program here."""

# pyright: reportOptionalMemberAccess=false

import jax.numpy as jnp
import numpy as np
import optax
import pytest
import torch

import jaxgrad
from parity_tests.runner.settings import ROOT


def prose(name):
    """Return the markdown of a notebook's script as one line."""
    lines = (ROOT / "notebooks" / f"{name}.py").read_text().splitlines()
    return " ".join(line.removeprefix("#").strip() for line in lines if line.startswith("#"))


def changed_in_place(w):
    with pytest.raises(RuntimeError, match="a leaf Variable that requires grad is being used in"):
        w -= 0.1
    with torch.no_grad():
        w -= 0.1


def frozen_with_a_gradient(w):
    sgd = torch.optim.SGD([w], 0.5)
    w.sum().backward()
    w.requires_grad_(False)
    sgd.step()
    assert w.tolist() == [0.5, 0.5]
    sgd.zero_grad()
    sgd.step()
    assert w.tolist() == [0.5, 0.5]


def nothing_saved(w):
    y = (w + 3).sum()
    y.backward()
    y.backward()
    assert w.grad.tolist() == [2, 2]


def shared_trunk(w):
    h = w * w
    (2 * h).sum().backward()
    with pytest.raises(RuntimeError, match="backward through the graph a second time"):
        (3 * h).sum().backward()
    w = torch.ones(2, requires_grad=True)
    h = w * w
    ((2 * h).sum() + (3 * h).sum()).backward()
    assert w.grad.tolist() == [10, 10]


def detached(w):
    with pytest.raises(RuntimeError, match="can't retain_grad on Tensor that has requires_grad"):
        (2 * w).detach().retain_grad()


def infinite_gradient(w):
    w.grad = torch.tensor([float("inf"), 4.0])
    grads = {"w": jnp.array([float("inf"), 4.0])}
    torch.nn.utils.clip_grad_norm_([w], 1.0)
    clipped, _ = jaxgrad.clip_grad_norm(grads, 1.0)
    np.testing.assert_array_equal(w.grad, [np.nan, 0])
    np.testing.assert_array_equal(clipped["w"], [np.nan, 0])
    w.grad = torch.tensor([float("inf"), 4.0])
    with pytest.raises(RuntimeError, match="non-finite"):
        torch.nn.utils.clip_grad_norm_([w], 1.0, error_if_nonfinite=True)
    with pytest.raises(RuntimeError, match="non-finite"):
        jaxgrad.clip_grad_norm(grads, 1.0, error_if_nonfinite=True)


@pytest.mark.parametrize(
    ("name", "words", "program"),
    [
        ("optim", "must not be changed in place, and torch raises", changed_in_place),
        ("freezing", "leaves the last gradient there", frozen_with_a_gradient),
        ("mutation", "A graph that has saved nothing", nothing_saved),
        ("mutation", "Two losses that share a trunk", shared_trunk),
        ("backward", "On a detached value torch's `retain_grad()` raises", detached),
        ("clipping", "and the infinite one NaN", infinite_gradient),
    ],
)
def test_a_notebook_states_what_torch_does(name, words, program):
    """A sentence about torch in a notebook is proved by a program that runs."""
    assert words in prose(name)
    program(torch.ones(2, requires_grad=True))


def test_optax_has_the_schedules_that_the_notebook_names():
    """optax's schedules that the notebook on schedules names give torch's learning rates."""
    text = prose("lr_scheduler")
    kinds = torch.optim.lr_scheduler
    restarts = [
        dict(init_value=0.1, peak_value=0.1, decay_steps=n, warmup_steps=0) for n in (8, 16)
    ]
    pairs = {
        "exponential_decay": (lambda opt: kinds.ExponentialLR(opt, 0.9), (0.1, 1, 0.9)),
        "polynomial_schedule": (lambda opt: kinds.PolynomialLR(opt, 20, 2), (0.1, 0, 2, 20)),
        "sgdr_schedule": (lambda opt: kinds.CosineAnnealingWarmRestarts(opt, 8, 2), (restarts,)),
    }
    for name, (make, arguments) in pairs.items():
        assert f"`{name}`" in text
        optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], 0.1)
        scheduler, schedule = make(optimizer), getattr(optax, name)(*arguments)
        for step in range(24):
            assert abs(schedule(step) - optimizer.param_groups[0]["lr"]) < 1e-7, (name, step)
            optimizer.step()
            scheduler.step()
