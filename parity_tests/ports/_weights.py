"""How the twins draw their weights, and how a converter reads them."""

from collections.abc import Callable, Mapping
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import torch
from torch import nn


Module = TypeVar("Module", bound=nn.Module)


def build(make: Callable[[], Module], seed: int, *, fresh: bool = False) -> Module:
    """A module in float64, in eval mode.

    Args:
      make: The module's constructor.
      seed: Of its initialisation.
      fresh: Keep torch's own, in which biases are zeros and norms are ones. Otherwise everything
        is moved, so that a weight that is dropped or swapped shows.
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
    """The tensors of a state dict as JAX arrays, copied; what JAX already traces stays."""

    def array(x: Any) -> Any:
        return jnp.array(x.detach().numpy() if isinstance(x, torch.Tensor) else x)

    return {name: x if isinstance(x, jax.Array) else array(x) for name, x in state.items()}
