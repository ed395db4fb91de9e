"""Exercises of the notebook lr_scheduler."""

import jax.numpy as jnp
import optax
import torch
from torch.optim.swa_utils import AveragedModel, get_ema_avg_fn


def warm_up():
    """`LinearLR(optimizer, start_factor=0.25, total_iters=4)` warms a learning rate of 0.1 up.
    Write the same schedule with `optax.linear_schedule`, and compare six steps."""
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.zeros(1))], lr=0.1)
    scheduler = torch.optim.lr_scheduler.LinearLR(optimizer, start_factor=0.25, total_iters=4)
    rates = []
    for _ in range(6):
        rates.append(optimizer.param_groups[0]["lr"])
        optimizer.step()
        scheduler.step()

    schedule = optax.linear_schedule(0.25 * 0.1, 0.1, 4)
    in_jax = jnp.array([schedule(step) for step in range(6)])
    print(torch.tensor(rates), in_jax)
    assert jnp.allclose(in_jax, jnp.array(rates))


def average_from_the_first_model():
    """A weight is 1, 2 and 4 after three steps. Write its moving average with decay 0.5 in JAX as
    torch's `AveragedModel` does, which copies the first model."""

    def average(weights):
        mean, *later = weights
        for weight in later:
            mean = 0.5 * mean + 0.5 * weight
        return mean

    weights = [1.0, 2.0, 4.0]
    model = torch.nn.Linear(1, 1, bias=False)
    averaged = AveragedModel(model, avg_fn=get_ema_avg_fn(0.5))
    for weight in weights:
        torch.nn.init.constant_(model.weight, weight)
        averaged.update_parameters(model)
    (in_torch,) = averaged.parameters()
    print(in_torch.item(), average(weights))
    assert average(weights) == in_torch.item() == 2.75
