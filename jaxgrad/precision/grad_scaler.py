"""Loss scaling for float16: torch's dynamic loss scale as pure functions of an explicit state."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import optax
from jax import lax

from jaxgrad._core.typing import PyTree


class GradScalerState(NamedTuple):
    """The scaler's state; both fields have shape ()."""

    scale: jax.Array  # float32
    growth_tracker: jax.Array  # int32: steps since the last growth or skipped step


class GradScaler:
    """Scale the loss, unscale the gradients, and skip a step if a gradient is not finite.

    Args:
        init_scale: Initial scale.
        growth_factor: Factor applied to the scale after `growth_interval` consecutive finite steps.
        backoff_factor: Factor applied to the scale after a step with a NaN or an infinity.
        growth_interval: Number of consecutive finite steps after which the scale grows.
        enabled: If False, the scale is 1 and every method passes its values through.

    Raises:
        ValueError: `growth_factor` is not greater than 1, or `backoff_factor` is not less than 1.

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

    Torch: `torch.amp.GradScaler`. Its errors for misuse (`unscale_` twice, `step` twice, `update`
    before either) have no counterpart, because each value is passed explicitly between methods.

    Differs from optax in:
        1. `optax.apply_if_finite` has no scale, and applies the bad update anyway after some
           failures; `GradScaler` never applies it (torch/amp/grad_scaler.py).

    Differs from torch in:
        1. XLA flushes subnormal numbers to zero, so a scale below 1.2e-38 becomes 0.
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
        """Return the initial state; `state._replace(scale=...)` sets the scale by hand."""
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
        """Divide the gradients by the scale, and check the scaled gradients for NaN and infinity.

        Args:
            state: The state with which the loss was scaled.
            grads: Gradients of the scaled loss; None leaves stay None.

        Returns:
            The gradients of the unscaled loss, and `found_inf`: a float32 of shape (), 1 if a
            scaled gradient is not finite, else 0.

        Raises:
            ValueError: A gradient is float16; parameters and their gradients must be float32.
        """
        if not self.enabled:
            return grads, jnp.float32(0.0)
        leaves = jax.tree.leaves(grads)
        if any(g.dtype == jnp.float16 for g in leaves):
            raise ValueError(
                "Attempting to unscale FP16 gradients: keep the parameters in float32."
            )
        # Two factors, because the reciprocal of a scale above 2**126 is subnormal: 0 under XLA.
        factor = jnp.where(state.scale > 2.0**126, jnp.float32(2.0**-8), 1.0)
        inverse = 1.0 / (state.scale * factor)
        if any(g.dtype in (jnp.float64, jnp.complex128) for g in leaves):
            # As torch: divide in float64, round to float32. A GPU's quotient of float32 may be
            # off by an ULP, and XLA may leave out a cast to float32 and back.
            inverse = 1.0 / (state.scale * factor).astype(jnp.float64)
            inverse = lax.reduce_precision(inverse, exponent_bits=8, mantissa_bits=23)

        def one(g: jax.Array) -> jax.Array:
            wide = jnp.promote_types(g.dtype, jnp.float32)
            return (g.astype(wide) * inverse.astype(wide) * factor.astype(wide)).astype(g.dtype)

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
        """Take one optimizer step, or leave parameters and state unchanged if `found_inf` is not 0.

        Args:
            found_inf: The flag that `unscale` returned.
            tx: An optax transformation.
            grads: The unscaled gradients, possibly clipped.
            opt_state: The state of `tx`.
            params: The parameters.

        Returns:
            The parameters and the optimizer state after the step.
        """
        if hasattr(tx, "step"):  # a jaxgrad.optim.Transformation, whose `step` is bit-exact
            new = tx.step(grads, opt_state, params)  # pyright: ignore[reportAttributeAccessIssue]
        else:
            updates, new_state = tx.update(grads, opt_state, params)
            new = optax.apply_updates(params, updates), new_state
        if not self.enabled:
            return new
        skip = found_inf != 0
        return jax.tree.map(lambda old, new: jnp.where(skip, old, new), (params, opt_state), new)

    def update(self, state: GradScalerState, found_inf: PyTree) -> GradScalerState:
        """Return the next state: the scale shrinks after a skipped step and grows periodically.

        Args:
            state: The state of this step.
            found_inf: The flag that `unscale` returned, or a list with one flag per optimizer.
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
        """Return the dict of torch's `scaler.state_dict()`, for torch or for `load_state_dict`.

        Args:
            state: The state of this step, with concrete (not traced) values.

        Returns:
            `scale`, `growth_factor`, `backoff_factor`, `growth_interval` and `_growth_tracker` as
            Python numbers; an empty dict if the scaler is disabled.
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
        """Restore a scaler and its state from a torch or jaxgrad state dict.

        Args:
            state_dict: The result of torch's `scaler.state_dict()` or of `state_dict`.

        Returns:
            A scaler with the restored settings, as in torch, and its state. A disabled scaler is
            returned unchanged.

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
    with jax.enable_x64(True):  # torch's factors are doubles, and its product is rounded once
        return (scale.astype(jnp.float64) * factor).astype(jnp.float32)
