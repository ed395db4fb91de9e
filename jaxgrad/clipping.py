"""Clip gradients by norm or by value exactly as torch does, including its epsilon."""

from __future__ import annotations

import math
from typing import Any

import jax
import jax.numpy as jnp
from jax import lax
from jax.core import Tracer
from jax.experimental import checkify

from jaxgrad._core import argument_names, compat, refusals
from jaxgrad._core.typing import ArrayLike, PyTree


@argument_names.spelt
def clip_grad_norm(
    grads: PyTree,
    max_norm: ArrayLike,
    norm_type: float | str = 2.0,
    *,
    error_if_nonfinite: bool = False,
    axis_name: str | tuple[str, ...] | None = None,
) -> tuple[PyTree, jax.Array]:
    """Scale all gradients by one factor so that their total norm is at most `max_norm`.

    The factor is `min(max_norm / (total_norm + 1e-6), 1)`, so that a total norm equal to `max_norm`
    is clipped slightly. The total norm is the norm of the vector of the leaves' norms.

    Args:
        grads: A tree of gradients; None leaves (no gradient) are ignored and stay None.
        max_norm: Maximum total norm.
        norm_type: Order p of the norm: any number, `inf`, `-inf` or `"inf"`.
        error_if_nonfinite: Whether to raise if the total norm is NaN or infinite, instead of
            scaling by it.
        axis_name: In `shard_map`, the mesh axes over which gradients are sharded; the norm is then
            taken over all shards. A gradient replicated over an axis counts once; under
            `check_vma=False` JAX does not track replication, and every gradient counts as sharded.
            Leave it out under `jit` with sharded arrays.

    Returns:
        The clipped gradients, each in its own dtype, and the total norm before clipping: a scalar
        of the widest dtype among the gradients (a float32 zero if there are none).

    Raises:
        RuntimeError: The total norm is not finite and `error_if_nonfinite` is set. Inside `jit`,
            use `checkify.checkify`, whose error then has the same text.
        TypeError: A gradient is a torch tensor.
        ValueError: A gradient is empty and `norm_type` is negative or infinite, or `norm_type` is
            not a number.

    Example:
        >>> import jax.numpy as jnp, jaxgrad
        >>> clipped, norm = jaxgrad.clip_grad_norm({"w": jnp.array([3.0, 4.0]), "b": None}, 1.0)
        >>> print(norm, jnp.linalg.norm(clipped["w"]).round(5), clipped["b"])
        5.0 1.0 None

    Torch: `torch.nn.utils.clip_grad_norm_`; with `axis_name`, of the sharded gradients of FSDP.

    Differs from optax in:
        1. `optax.clip_by_global_norm` has no epsilon, supports only the 2-norm and does not return
           the norm (torch/nn/utils/clip_grad.py).
        2. Norms of half-precision gradients are accumulated in float32, as in torch.

    Differs from torch in:
        1. The result is differentiable; torch clips in place without recording a graph.
    """
    refusals.torch_values("clip_grad_norm's grads", grads)
    refusals.non_number("clip_grad_norm(grads, max_norm)", "max_norm", max_norm)
    try:
        p = float(norm_type)
    except (TypeError, ValueError):
        raise ValueError(
            f'clip_grad_norm: norm_type must be a number or "inf", but got {norm_type!r}'
        ) from None
    leaves = [g for g in jax.tree.leaves(grads) if _is_gradient(g)]
    if not leaves:
        return grads, jnp.float32(0.0)
    norms = [_norm(g, p) for g in leaves]
    if axis_name is not None:
        axes = (axis_name,) if isinstance(axis_name, str) else tuple(axis_name)
        norms = [_of_all_shards(norm, p, _sharded_over(norm, axes)) for norm in norms]
    total_norm = _norm(jnp.stack(jnp.broadcast_arrays(*norms)), p)
    if error_if_nonfinite:
        _check_finite(total_norm, p)
    # torch computes `max_norm / x` as a reciprocal and a product, which rounds twice
    wide = total_norm.dtype
    inverse = (1.0 / (total_norm + 1e-6)).astype(wide)
    coefficient = jnp.minimum((inverse * jnp.asarray(max_norm, wide)).astype(wide), 1.0)
    return jax.tree.map(lambda g: _scaled(g, coefficient), grads), total_norm


@argument_names.spelt
def clip_grad_value(grads: PyTree, clip_value: ArrayLike) -> PyTree:
    """Clip every element of every gradient to `[-clip_value, clip_value]`.

    Args:
        grads: A tree of gradients; None leaves (no gradient) stay None.
        clip_value: Maximum absolute value of an element.

    Returns:
        The clipped gradients, each in its own dtype; NaN stays NaN.

    Raises:
        TypeError: A gradient is complex or a torch tensor, or `clip_value` is None.
        ValueError: `clip_value` is too large for the dtype of a gradient.

    Example:
        >>> import jax.numpy as jnp, jaxgrad
        >>> print(jaxgrad.clip_grad_value({"w": jnp.array([-3.0, 0.5]), "b": None}, 1.0)["w"])
        [-1.   0.5]

    Torch: `torch.nn.utils.clip_grad_value_`.
    """

    refusals.torch_values("clip_grad_value's grads", grads)
    refusals.non_number("clip_grad_value(grads, clip_value)", "clip_value", clip_value)

    def clip(g: Any) -> Any:
        if not _is_gradient(g):
            return g
        if jnp.issubdtype(g.dtype, jnp.complexfloating):
            raise TypeError(f"clamp is not supported for complex types: a gradient is {g.dtype}")
        if isinstance(clip_value, (int, float)) and math.isfinite(clip_value):
            if abs(clip_value) > float(jnp.finfo(g.dtype).max):
                raise ValueError(
                    f"clip_value {clip_value} cannot be converted to {g.dtype} without overflow; "
                    f"the largest {g.dtype} is {float(jnp.finfo(g.dtype).max):g}"
                )
        bound = jnp.asarray(clip_value, g.dtype)
        return jnp.minimum(jnp.maximum(g, -bound), bound)

    return jax.tree.map(clip, grads)


def _is_gradient(g: Any) -> bool:
    return g.dtype != jax.dtypes.float0  # float0 is JAX's "no gradient" for integer leaves


def _compute_dtype(dtype: Any) -> Any:
    return jnp.promote_types(dtype, jnp.float32)


def _norm(x: jax.Array, p: float) -> jax.Array:
    """Return the p-norm of `x` in its real dtype, accumulated in at least float32."""
    if x.size == 0 and (p < 0 or p == math.inf):
        raise ValueError(
            f"clip_grad_norm cannot compute the {p:g} norm of an empty gradient (shape {x.shape}) "
            "because the operation does not have an identity; leave that gradient out"
        )
    size = jnp.abs(x.astype(_compute_dtype(x.dtype)))
    if p == math.inf:
        norm = jnp.max(size)
    elif p == -math.inf:
        norm = jnp.min(size)
    elif p == 0:
        norm = jnp.sum(size != 0)
    elif p == 1:
        norm = jnp.sum(size)
    elif p == 2:
        norm = jnp.sqrt(jnp.sum(size * size))
    else:
        norm = jnp.sum(size**p) ** (1.0 / p)
    return norm.astype(jnp.finfo(x.dtype).dtype)


def _sharded_over(x: jax.Array, axes: tuple[str, ...]) -> tuple[str, ...]:
    """Return the axes along which `x` may differ between devices, including untracked ones."""
    tracked = {axis for axis in axes if compat.varying_axes(jax.typeof(lax.axis_index(axis)))}
    varying = compat.varying_axes(jax.typeof(x))
    return tuple(axis for axis in axes if axis in varying or axis not in tracked)


def _of_all_shards(norm: jax.Array, p: float, axes: tuple[str, ...]) -> jax.Array:
    """Combine the norms of an array's shards into the norm of the whole array."""
    if not axes:
        return norm
    wide = norm.astype(_compute_dtype(norm.dtype))
    if p == math.inf:
        total = lax.pmax(wide, axes)
    elif p == -math.inf:
        total = lax.pmin(wide, axes)
    elif p in (0, 1):
        total = lax.psum(wide, axes)
    elif p == 2:
        total = jnp.sqrt(lax.psum(wide * wide, axes))
    else:
        total = lax.psum(wide**p, axes) ** (1.0 / p)
    return total.astype(norm.dtype)


def _scaled(g: Any, coefficient: jax.Array) -> Any:
    if not _is_gradient(g):
        return g
    wide = _compute_dtype(g.dtype)
    return (g.astype(wide) * coefficient.astype(jnp.finfo(wide).dtype)).astype(g.dtype)


def _check_finite(total_norm: jax.Array, p: float) -> None:
    text = (
        f"The total norm of order {p} for gradients is non-finite, so it cannot be clipped. To "
        "disable this error and scale the gradients by the non-finite norm anyway, set "
        "`error_if_nonfinite=False`"
    )
    if isinstance(total_norm, Tracer):
        checkify.check(jnp.isfinite(total_norm), text)
    elif not jnp.isfinite(total_norm):
        raise RuntimeError(text)
