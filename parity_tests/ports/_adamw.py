"""A common AdamW setup: only matrices decay, gradients are clipped, and the rate warms up."""

import functools
from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import optax
import torch
from torch import nn

import jaxgrad


RATE, DECAY, CLIP, WARM_UP = 1e-2, 0.1, 0.5, 4


def torch_adamw(params: Any) -> torch.optim.Optimizer:
    """Return AdamW with decay on matrices only, gradient clipping and a learning rate warm-up."""
    params = list(params)
    groups = [
        {"params": [p for p in params if p.ndim >= 2], "weight_decay": DECAY},
        {"params": [p for p in params if p.ndim < 2], "weight_decay": 0.0},
    ]
    optimizer = torch.optim.AdamW(groups, lr=RATE)
    warm_up = torch.optim.lr_scheduler.LambdaLR(optimizer, lambda n: min(1.0, (n + 1) / WARM_UP))

    def clip(*_: Any) -> None:
        nn.utils.clip_grad_norm_(params, CLIP)

    optimizer.register_step_pre_hook(clip)
    optimizer.register_step_post_hook(lambda *_: warm_up.step())
    return optimizer


def is_matrix(path: Any, x: Any) -> bool:
    return x.ndim >= 2


def warm_up(count: Any) -> Any:
    # JAX divides an int32 by an int in float32 even with x64 on, so this multiplies instead.
    return RATE * jnp.minimum(1.0, 1 / WARM_UP * (count + 1))


def clip(grads: Any) -> Any:
    return jaxgrad.clip_grad_norm(grads, CLIP)[0]


def clip_each(grads: Any) -> Any:
    return jax.tree.map(clip, grads)


def uncorrected_adam(b1: float = 0.9, b2: float = 0.999, eps: float = 1e-8) -> Any:
    def init(params: Any) -> Any:
        zeros = jax.tree.map(jnp.zeros_like, params)
        return zeros, zeros

    def update(updates: Any, state: Any, params: Any = None) -> Any:
        del params
        m = optax.tree.update_moment(updates, state[0], b1, 1)
        v = optax.tree.update_moment(updates, state[1], b2, 2)
        return jax.tree.map(lambda m, v: m / (jnp.sqrt(v) + eps), m, v), (m, v)

    return optax.GradientTransformation(init, update)


def adamw(
    decays: Callable[[Any, Any], bool] = is_matrix,
    *,
    clip: Callable[[Any], Any] = clip,
    adam: Any = None,
    rate: Callable[[Any], Any] = warm_up,
    coupled: bool = False,
) -> optax.GradientTransformation:
    """Return the optax equivalent of `torch_adamw`; the arguments introduce mistakes."""
    adam = optax.scale_by_adam() if adam is None else adam
    mask = functools.partial(jax.tree_util.tree_map_with_path, decays)
    decay = optax.add_decayed_weights(DECAY, mask)
    parts = [decay, adam] if coupled else [adam, decay]
    clipping = optax.stateless(lambda grads, _: clip(grads))
    return optax.chain(clipping, *parts, optax.scale_by_learning_rate(rate))
