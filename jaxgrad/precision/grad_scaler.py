"""Loss scaling for float16: torch's dynamic scale as a pure function of its state."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax

from jaxgrad._core import compat
from jaxgrad._core.typing import PyTree


class GradScalerState(NamedTuple):
    """What changes from step to step; both of shape ()."""

    scale: jax.Array  # float32
    growth_tracker: jax.Array  # int32: steps since the last growth or skip


class GradScaler:
    """Scale the loss, unscale the gradients, skip the step where one is not finite.

    Args:
        init_scale: The first scale.
        growth_factor: What the scale is multiplied by after `growth_interval` good steps.
        backoff_factor: What it is multiplied by after a step with a NaN or an infinity.
        growth_interval: How many good steps in a row make it grow.
        enabled: If not, the scale is 1 and every method passes its values through.

    Raises:
        ValueError: `growth_factor` is not above 1, or `backoff_factor` not below 1.

    Example:
        >>> import jax, jax.numpy as jnp, optax, jaxgrad
        >>> scaler, tx, w = jaxgrad.GradScaler(), optax.sgd(0.1), jnp.array([1.0, 2.0])
        >>> state, opt_state = scaler.init(), tx.init(w)
        >>> grads = jax.grad(lambda w: scaler.scale(state, jnp.sum(w**2)))(w)
        >>> grads, found_inf = scaler.unscale(state, grads)
        >>> w, opt_state = scaler.step(found_inf, tx, grads, opt_state, w)
        >>> state = scaler.update(state, found_inf)
        >>> print(w, state.scale, state.growth_tracker)
        [0.8 1.6] 65536.0 1

    Torch: `torch.amp.GradScaler`. Its misuse errors (`unscale_` twice, `step` twice, `update`
    before them) have no counterpart: each value is passed from one method to the next by name.

    Differs from optax in:
        1. `optax.apply_if_finite` has no scale, and after some failures applies the bad update
           anyway; here it is never applied (torch/amp/grad_scaler.py).

    Differs from torch in:
        1. XLA takes subnormal numbers for zero: a scale below 1.2e-38 is 0 at once.
    """

    def __init__(
        self,
        init_scale: float = 2.0**16,
        growth_factor: float = 2.0,
        backoff_factor: float = 0.5,
        growth_interval: int = 2000,
        enabled: bool = True,
    ) -> None:
        if enabled and growth_factor <= 1.0:
            raise ValueError(f"The growth factor must be > 1.0, got {growth_factor}.")
        if enabled and backoff_factor >= 1.0:
            raise ValueError(f"The backoff factor must be < 1.0, got {backoff_factor}.")
        self.init_scale = init_scale
        self.growth_factor = growth_factor
        self.backoff_factor = backoff_factor
        self.growth_interval = growth_interval
        self.enabled = enabled

    def init(self) -> GradScalerState:
        """The state before the first step; to set a scale by hand, `state._replace(scale=...)`."""
        scale = self.init_scale if self.enabled else 1.0
        return GradScalerState(jnp.float32(scale), jnp.int32(0))

    def scale(self, state: GradScalerState, loss: PyTree) -> PyTree:
        """Multiply the loss, or a tree of outputs, by the scale.

        A half-precision loss of shape () becomes float32; an array keeps its dtype, as in torch.
        """
        if not self.enabled:
            return loss

        def one(x: Any) -> jax.Array:
            x = jnp.asarray(x)
            scaled = x * state.scale
            half = x.ndim > 0 and jnp.issubdtype(x.dtype, jnp.inexact)
            return scaled.astype(x.dtype) if half else scaled

        return jax.tree.map(one, loss)

    def unscale(self, state: GradScalerState, grads: PyTree) -> tuple[PyTree, jax.Array]:
        """Divide the gradients by the scale, and look for NaN and infinity among the scaled ones.

        Args:
            state: The state with which the loss was scaled.
            grads: Gradients of the scaled loss; None leaves stay None.

        Returns:
            The gradients of the loss, and `found_inf`, a float32 of shape (): 1 or 0.

        Raises:
            ValueError: A gradient is float16: parameters and their gradients are float32.
        """
        if not self.enabled:
            return grads, jnp.float32(0.0)
        leaves = jax.tree.leaves(grads)
        if any(g.dtype == jnp.float16 for g in leaves):
            raise ValueError(
                "Attempting to unscale FP16 gradients: keep the parameters in float32."
            )
        # In two factors: the reciprocal of more than 2**126 is subnormal, which is zero to XLA.
        part = jnp.where(state.scale > 2.0**126, jnp.float32(2.0**-8), 1.0)
        inverse = 1.0 / (state.scale * part)  # correctly rounded, as torch's in float64

        def one(g: jax.Array) -> jax.Array:
            wide = jnp.promote_types(g.dtype, jnp.float32)
            return (g.astype(wide) * inverse.astype(wide) * part.astype(wide)).astype(g.dtype)

        bad = [jnp.any(~jnp.isfinite(g)) for g in leaves]
        found_inf = jnp.any(jnp.array(bad)) if bad else jnp.bool_(False)
        return jax.tree.map(one, grads), found_inf.astype(jnp.float32)

    def step(
        self,
        found_inf: jax.Array,
        tx: optax.GradientTransformation,
        grads: PyTree,
        opt_state: PyTree,
        params: PyTree,
    ) -> tuple[PyTree, PyTree]:
        """One optimizer step, or none if `found_inf`: parameters and state as they were.

        Args:
            found_inf: What `unscale` returned.
            tx: An optax transformation.
            grads: The unscaled gradients, perhaps clipped since.
            opt_state: The state of `tx`.
            params: The parameters.

        Returns:
            The parameters and the optimizer state after the step.
        """
        if hasattr(tx, "step"):  # a jaxgrad.optim.Transformation: exact in the last bit
            new = tx.step(grads, opt_state, params)  # pyright: ignore[reportAttributeAccessIssue]
        else:
            updates, new_state = tx.update(grads, opt_state, params)
            new = optax.apply_updates(params, updates), new_state
        if not self.enabled:
            return new
        skip = found_inf != 0
        return jax.tree.map(lambda old, new: jnp.where(skip, old, new), (params, opt_state), new)

    def update(self, state: GradScalerState, found_inf: PyTree) -> GradScalerState:
        """The state for the next step: a smaller scale after a skip, a larger one now and then.

        Args:
            state: The state of this step.
            found_inf: What `unscale` returned; of several optimizers a list.
        """
        if not self.enabled:
            return state
        bad = sum(jax.tree.leaves(found_inf)) != 0
        good_steps = state.growth_tracker + 1
        grow = good_steps == self.growth_interval
        grown = _times(state.scale, self.growth_factor)
        larger = jnp.where(jnp.isfinite(grown), grown, state.scale)
        smaller = _times(state.scale, self.backoff_factor)
        return GradScalerState(
            jnp.where(bad, smaller, jnp.where(grow, larger, state.scale)),
            jnp.where(bad | grow, 0, good_steps),
        )

    def state_dict(self, state: GradScalerState) -> dict[str, Any]:
        """What torch's `scaler.state_dict()` gives, to be loaded there or by `load_state_dict`.

        Args:
            state: The state of this step; numbers, not traced.

        Returns:
            `scale`, `growth_factor`, `backoff_factor`, `growth_interval` and `_growth_tracker` as
            Python numbers; nothing if the scaler is disabled.
        """
        if not self.enabled:
            return {}
        return {
            "scale": float(state.scale),
            "growth_factor": self.growth_factor,
            "backoff_factor": self.backoff_factor,
            "growth_interval": self.growth_interval,
            "_growth_tracker": int(state.growth_tracker),
        }

    def load_state_dict(self, state_dict: Mapping[str, Any]) -> tuple[GradScaler, GradScalerState]:
        """Go on where a scaler was, of torch or of this module.

        Args:
            state_dict: From torch's `scaler.state_dict()`, or from `state_dict`.

        Returns:
            A scaler with the settings in it, as torch takes them over too, and its state. A
            disabled scaler stays as it is.

        Raises:
            RuntimeError: The dict is empty.
        """
        if not self.enabled:
            return self, self.init()
        if not state_dict:
            raise RuntimeError(
                "The source state dict is empty, possibly because it was saved from a disabled "
                "instance of GradScaler."
            )
        names = ("growth_factor", "backoff_factor", "growth_interval")
        scaler = GradScaler(state_dict["scale"], *(state_dict[name] for name in names))
        tracker = jnp.int32(state_dict["_growth_tracker"])
        return scaler, scaler.init()._replace(growth_tracker=tracker)


def _times(scale: jax.Array, factor: float) -> jax.Array:
    with compat.enable_x64():  # torch's factors are doubles, and its product is rounded once
        return (scale.astype(jnp.float64) * factor).astype(jnp.float32)
