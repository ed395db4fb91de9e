"""Run a JAX program on numpy inputs, eager or jitted, and return its observation."""

import functools
from collections.abc import Callable, Mapping
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxgrad.parity import interop


class JaxProgram:
    """A callable from a case's inputs to an observation, which is the exception if it raises."""

    def __init__(
        self,
        fun: Callable[..., Any],
        mode: str,
        device: str = "cpu",
        options: Mapping[str, Any] | None = None,
    ):
        self.fun, self.platform, self.options = fun, device, options
        self.device = jax.devices(device)[0]
        self.call = self._jitted() if mode == "jit" else lambda inputs: fun(**inputs)

    def __call__(self, inputs: Any) -> Any:
        with jax.default_device(self.device), jax.default_matmul_precision("highest"):
            try:
                return interop.to_numpy(self.call(interop.to_jax(inputs)))
            except Exception as error:
                return error

    def _compiler_options(self) -> dict[str, Any]:
        """Return the XLA options; on a GPU or TPU, the one that keeps bfloat16 as torch does."""
        if self.platform != "cpu":
            return {"xla_allow_excess_precision": False}
        return dict(self.options or {})

    def _jitted(self) -> Callable[[Any], Any]:
        template: list[Any] = []

        @functools.partial(jax.jit, static_argnums=1, compiler_options=self._compiler_options())
        def arrays(leaves: list[jax.Array], spec: "Spec") -> list[jax.Array]:
            out: list[jax.Array] = []

            def leaf(x: Any) -> Any:
                if not isinstance(x, jax.Array | np.ndarray | np.generic):
                    return x  # None, strings and flags are read at trace time
                out.append(jnp.asarray(x))
                return _Slot(len(out) - 1)

            template[:] = [interop.map_leaves(leaf, self.fun(**spec.fill(leaves)))]
            return out

        def call(inputs: Any) -> Any:
            spec = Spec(inputs)
            out = arrays(spec.arrays, spec)
            return interop.map_leaves(
                lambda x: out[x.index] if isinstance(x, _Slot) else x, template[0]
            )

        return call


class _Slot:
    def __init__(self, index: int):
        self.index = index


class Spec:
    """Inputs split into traced arrays and static values."""

    def __init__(self, inputs: Any):
        self.arrays: list[jax.Array] = []
        self.template = interop.map_leaves(self._take, inputs)

    def _take(self, x: Any) -> Any:
        if not isinstance(x, jax.Array):
            return x
        self.arrays.append(x)
        return _Slot(len(self.arrays) - 1)

    def fill(self, leaves: list[jax.Array]) -> Any:
        return interop.map_leaves(
            lambda x: leaves[x.index] if isinstance(x, _Slot) else x, self.template
        )

    # Calls of one case differ only in array values, so all specs are equal and jit compiles once.
    def __hash__(self) -> int:
        return 0

    def __eq__(self, other: object) -> bool:
        return isinstance(other, Spec)
