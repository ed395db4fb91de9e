"""Build the torch modules of the ports, and read their weights as JAX arrays."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import torch
from torch import nn


Module = TypeVar("Module", bound=nn.Module)


def build(make: Callable[[], Module], seed: int, *, fresh: bool = False) -> Module:
    """Return a float64 module in eval mode.

    Args:
        make: The module's constructor.
        seed: Seed of the initialisation.
        fresh: Keep torch's initial values, in which biases are zeros and norm weights are ones.
            Otherwise all weights are perturbed, so that a dropped or swapped weight shows.
    """
    with torch.random.fork_rng(devices=[]), torch.no_grad():
        torch.manual_seed(seed)
        module = make().double().eval()
        if not fresh:
            for p in module.parameters():
                scale = 0.3 if p.ndim < 2 else 0.3 * p.std().item()
                p.add_(scale * torch.randn_like(p))
            for name, b in module.named_buffers():
                if name.endswith("running_mean"):
                    b.add_(0.3 * torch.randn_like(b))
                if name.endswith("running_var"):
                    b.mul_(torch.exp(0.3 * torch.randn_like(b)))
    return module


def arrays(state: Mapping[str, Any]) -> dict[str, Any]:
    """Copy the tensors of a state dict to JAX arrays; JAX arrays and tracers stay as they are."""

    def array(x: Any) -> Any:
        return jnp.array(x.detach().numpy() if isinstance(x, torch.Tensor) else x)

    return {name: x if isinstance(x, jax.Array) else array(x) for name, x in state.items()}


def dense(weights: Mapping[str, Any], name: str) -> dict[str, Any]:
    """Return torch's linear layer `name` as a dense layer: the transposed kernel and the bias."""
    return {"kernel": weights[f"{name}.weight"].T, "bias": weights[f"{name}.bias"]}
