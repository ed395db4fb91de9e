"""XLA's options for programs that run only a few times: optimizing takes longer than running."""

from collections.abc import Callable, Collection, Hashable
from typing import Any

import jax
from jax.extend import core as jex_core

from jaxgrad.parity.convolutions import with_fast_convolutions


QUICK: dict[str, Any] = {
    "xla_backend_optimization_level": 0,
    "xla_llvm_disable_expensive_passes": True,
    "xla_cpu_parallel_codegen_split_count": 1,
}
if jax.__version_info__ < (0, 11):  # JAX 0.11 removed this option, which halves the compile time
    QUICK["xla_cpu_use_fusion_emitters"] = False

# Fusion copies an operation into each of its consumers; in a deep network the number of copies, and
# with it the compile time, grows with the square of the depth. Without fusion each operation is a
# kernel, and the emitters that `QUICK` switches off compile equal kernels once: forty equal layers
# of a transformer compile eight times faster. But they take long for each kernel: a network of
# convolutions, whose layers differ, compiles three to ten times slower than with `QUICK`.
DEEP = {**QUICK, "xla_disable_hlo_passes": "fusion", "xla_cpu_use_fusion_emitters": True}
if jax.__version_info__ >= (0, 11):
    del DEEP["xla_cpu_use_fusion_emitters"]
_DEEP = 1500  # equations; smaller programs compile fastest with `QUICK`
_EQUAL = 8  # equal equations, on average, from which `DEEP` compiles faster


def quick_jit(
    fun: Callable[..., Any],
    equations: Collection[jex_core.JaxprEqn] = (),
    donate: tuple[int, ...] = (),
    *,
    differentiates: bool = False,
    compares: bool = False,
) -> Any:
    """Return `jax.jit(fun)` with the options that compile it fastest and keep its gradients right.

    Args:
        fun: The function.
        equations: The equations of its forward pass.
        donate: The arguments whose memory outputs of the same shapes take.
        differentiates: Whether it has a backward pass, which has about as many equations.
        compares: Whether its backward pass compares values with a maximum that is not `pinned`;
            see `maxima`.
    """
    total = 2 * len(equations) if differentiates else len(equations)
    deep = total > _DEEP and len(equations) >= _EQUAL * len({_kernel(eqn) for eqn in equations})
    if any(eqn.primitive.name == "conv_general_dilated" for eqn in equations):
        fun = with_fast_convolutions(fun)
    return jax.jit(fun, compiler_options=DEEP if deep or compares else QUICK, donate_argnums=donate)


def _kernel(eqn: jex_core.JaxprEqn) -> Hashable:
    """Return what two equations that compile to the same kernel have in common."""
    numbers = [value for value in eqn.params.values() if isinstance(value, int | str | tuple)]
    return eqn.primitive.name, tuple(var.aval for var in eqn.invars), tuple(numbers)
