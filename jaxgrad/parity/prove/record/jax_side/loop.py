"""The port's training loop: gradients, the optax transformation and the average of the weights."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax

from jaxgrad.parity.compiling import QUICK
from jaxgrad.parity.prove.record.jax_side import lifting
from jaxgrad.parity.prove.record.jax_side.port import Draw, Gradients, Port
from jaxgrad.parity.prove.record.jax_side.program import flat, literals
from jaxgrad.parity.prove.training import Training, check_transformation
from jaxgrad.parity.prove.users import ProofError, running
from jaxgrad.parity.prove.weights.likeness import leaves_of
from jaxgrad.parity.ulp import scale_of


_NONE = "It gets the params with None for the leaves that are not trained; a mask gets them too"
Backward = Callable[[int, list[Any]], Gradients]


class Loop:
    """The port's params with the state of its optimizer, which `step` advances together."""

    def __init__(
        self,
        port: Port,
        training: Training,
        draw: Draw,
        trainable: list[bool] | None,
        *,
        lifted: bool = True,  # to float64
    ) -> None:
        tx = training.optax
        check_transformation(tx)
        self.port, self.accumulate = port, training.accumulate
        self._gives_none = training.gives_none
        self.params = [jnp.asarray(x) for x in port.weights.to_jax(draw.state)]
        mask = trainable or [True] * len(self.params)
        pairs = zip(mask, self.params, strict=True)
        self.trained = [t and jnp.issubdtype(x.dtype, jnp.inexact) for t, x in pairs]
        none = "" if all(self.trained) else _NONE
        with running("optimizer=: the init of the optax transformation", none):
            self.state = tx.init(self._tree(self.params))
        if lifted:  # torch's optimizer keeps every number of its state in float64 then
            self.state = jax.tree.map(lifting.wide, self.state)
        self._lifts, self.update = lifted, tx.update
        self._given, self._lifted = (
            jax.jit(fun, compiler_options=QUICK) for fun in (tx.update, lifting.lifted(tx.update))
        )
        self._after = None if training.after is None else training.after[1]
        # `after` and the forward pass may change leaves that are not trained.
        changes = training.after is not None or port.has_state
        self._averaged = [
            t or (changes and jnp.issubdtype(x.dtype, jnp.inexact))
            for t, x in zip(self.trained, self.params, strict=True)
        ]
        self._average = None
        if training.ema is not None:
            self._average = _average(training.ema[1], self._tree(self.params, self._averaged))

    def step(self, backward: Backward) -> None:
        """Make one step, as the usual optax loop does: `tx.update`, `optax.apply_updates`.

        Args:
            backward: Function from the number of a micro-batch and the params to the gradients.
        """
        for number in range(self.accumulate):
            gradients = backward(number, self.params)
            if self.port.has_state and gradients.outputs:
                self._store_state(gradients.outputs)
            params, grads = self._tree(self.params), self._tree(self._grads(gradients))
            updates, self.state = self._update(grads, self.state, params)
            new = iter(jax.tree.leaves(optax.apply_updates(params, updates)))
            pairs = zip(self.params, self.trained, strict=True)
            self.params = [next(new) if trained else x for x, trained in pairs]
        if self._after is not None:
            self._change(self._after)
        if self._average is not None:
            self._average = self._average.after(self._tree(self.params, self._averaged))

    def _grads(self, gradients: Gradients) -> list[Any]:
        """Return the gradients of the params as an optax transformation takes them."""
        pairs = zip(self.params, gradients.leaves, strict=False)
        return [self._without_path(x) if g is None else jnp.conj(g) for x, g in pairs]

    def _without_path(self, x: jax.Array) -> jax.Array | None:
        """Return the gradient of a leaf that no derivative path reaches."""
        return None if self._gives_none else jnp.zeros_like(x)

    def _change(self, function: Callable[[Any], Any]) -> None:
        """Apply the user's function to all params, trained or not."""
        program = self.port.program
        with running("Training(after=): the port's function"):
            changed = function(program.fill(self.params))
        paths, leaves, _ = flat(changed)
        if paths != program.param_paths:
            other = next((p for p in (*program.param_paths, *paths)
                          if (p in paths) != (p in program.param_paths)), "")  # fmt: skip
            lacks = "lacks" if other in program.param_paths else "has another leaf,"
            raise ProofError(
                f"Training(after=): the tree that the port's function returned {lacks} {other!r}: "
                "return all params, changed or not"
            )
        for i, (path, x) in enumerate(zip(paths, leaves, strict=True)):
            if np.shape(x) != np.shape(self.params[i]):
                raise ProofError(
                    f"Training(after=): the port's function changed the shape of {path!r} from "
                    f"{np.shape(self.params[i])} to {np.shape(x)}"
                )
            self.params[i] = jnp.asarray(x, self.params[i].dtype)

    def norm_of_update(self, gradients: Gradients, factor: float) -> float:
        """Return the norm of an update whose optimizer has moments that are a multiple of its own.

        The loop itself is not changed.

        Args:
            gradients: The gradients of each micro-batch.
            factor: Factor of all arrays in the state of the optimizer, except scalars.
        """

        def scaled(x: Any) -> Any:
            is_moment = jnp.ndim(x) and jnp.issubdtype(jnp.asarray(x).dtype, jnp.inexact)
            return x * factor if is_moment else x

        state, params = jax.tree.map(scaled, self.state), self._tree(self.params)
        grads, largest = self._tree(self._grads(gradients)), 0.0
        for _ in range(self.accumulate):
            updates, state = self._update(grads, state, params)
            parts = [np.linalg.norm(np.asarray(x).ravel()) for x in jax.tree.leaves(updates)]
            largest = max(largest, float(np.linalg.norm(parts)))
        return largest

    def numbers(self) -> list[float]:
        """Return the sizes of the numbers in the program of the optax transformation.

        A number may have been rounded to float32, so its first decimal places count; a number that
        was not rounded counts itself too.
        """
        params = self._tree(self.params)
        try:
            jaxpr = jax.make_jaxpr(self.update)(params, self.state, params)
        except Exception:  # an accumulator in float32 does not take a state in float64
            try:
                update = lifting.lifted(self.update)
                jaxpr = jax.make_jaxpr(update)(params, self.state, params)
            except Exception:  # numbers are only candidates for a cause
                return []
        numbers = [abs(x) for x in literals(jaxpr)]
        exact = [[x] if float(np.float32(x)) != x else [] for x in numbers]
        pairs = zip(numbers, exact, strict=True)
        return list(dict.fromkeys(n for x, own in pairs for n in (float(f"{x:.7g}"), *own)))

    def parameters(self) -> dict[str, np.ndarray]:
        """Return the params by torch's names."""
        return self._by_name([np.asarray(x) for x in self.params])

    def averages(self) -> dict[str, np.ndarray]:
        """Return the averaged params by torch's names; none without `ema=`.

        A leaf that the average does not contain is as the params have it.
        """
        if self._average is None:
            return {}
        paths, leaves, _ = flat(self._average.read(self._average.state))
        found = dict(zip(paths, leaves, strict=True))
        pairs = zip(self.port.program.param_paths, self.params, strict=True)
        return self._by_name([np.asarray(found.get(path, x)) for path, x in pairs])

    def _by_name(self, leaves: Sequence[np.ndarray]) -> dict[str, np.ndarray]:
        """Return the tensors that an optimizer moves in the leaves as it does in torch."""
        weights = self.port.weights
        values = weights.values_of(leaves).items()
        return {name: x for name, x in values if name not in weights.not_one_to_one}

    def _tree(self, values: Sequence[Any], kept: Sequence[bool] | None = None) -> Any:
        """Return params with these values, and None for leaves not trained, or not `kept`."""
        pairs = zip(values, self.trained if kept is None else kept, strict=True)
        return self.port.program.fill([x if keeps else None for x, keeps in pairs])

    def _update(self, *args: Any) -> Any:
        """Return the update and state lifted to float64, unless that changes them by too much.

        A schedule that optax computes in float32 is off by 1e-8, which is not the port's fault. If
        the difference exceeds float32 rounding, the original update is judged.
        """
        if not self._lifts:
            return self._given(*args)
        with running("optimizer=: the update of the optax transformation"):
            lifted = self._lifted(*args)
        try:
            given = self._given(*args)
        except Exception:  # the update rejects float64
            return lifted
        return lifted if _nearly_equal(given[0], lifted[0]) else given

    def _store_state(self, outputs: Sequence[np.ndarray]) -> None:
        """Write the new state to the leaves of params that hold it, before the optimizer's update.

        A forward pass may change a weight that is trained too. A port that returns all of its
        params as the state returns the others as they are.
        """
        program = self.port.program
        for path, x in zip(program.state_paths, outputs[len(program.out_paths) :], strict=True):
            for i in leaves_of(path, program.param_paths):
                if self.params[i].shape == np.shape(x):
                    self.params[i] = jnp.asarray(x, self.params[i].dtype)


def _nearly_equal(given: Any, lifted: Any) -> bool:
    """Whether two updates differ only by the rounding of float32."""
    leaves = [map(np.asarray, jax.tree.leaves(tree)) for tree in (given, lifted)]
    pairs = zip(*leaves, strict=True)
    return all(np.max(np.abs(x - y), initial=0.0) <= 1e-4 * scale_of(y) for x, y in pairs)


class _Average(NamedTuple):
    """The average of the weights so far, and the user's way to update and to read it."""

    state: Any
    update: Callable[[Any, Any], Any]
    read: Callable[[Any], Any]

    def after(self, params: Any) -> _Average:
        """Return the average that includes new params."""
        with running("Training(ema=): the port's average"):
            return self._replace(state=self.update(self.state, params))


def _average(average: Any, params: Any) -> _Average:
    """Return the average before the first step, which is the params themselves."""
    if callable(average):
        return _Average(params, average, lambda state: state)
    if isinstance(average, optax.GradientTransformation):
        return _Average(
            (params, average.init(params)),
            lambda state, new: average.update(new, state[1]),
            lambda state: state[0],
        )
    return _Average(average.init(params), average.update, lambda state: state.module)
