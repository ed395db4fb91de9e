"""XLA's options for programs that run only a few times: optimizing takes longer than running."""

from collections.abc import Callable
from typing import Any

import jax


QUICK: dict[str, Any] = {
    "xla_backend_optimization_level": 0,
    "xla_llvm_disable_expensive_passes": True,
    "xla_cpu_parallel_codegen_split_count": 1,
}
if jax.__version_info__ < (0, 11):  # JAX 0.11 removed this option, which halves the compile time
    QUICK["xla_cpu_use_fusion_emitters"] = False

# Fusion copies an operation into each of its consumers; in a deep network the number of copies, and
# with it the compile time, grows with the square of the depth. Without fusion most kernels are
# equal, and the emitters that `QUICK` switches off compile equal kernels once.
DEEP = {**QUICK, "xla_disable_hlo_passes": "fusion", "xla_cpu_use_fusion_emitters": True}
if jax.__version_info__ >= (0, 11):
    del DEEP["xla_cpu_use_fusion_emitters"]
_DEEP = 1500  # equations; from here on `DEEP` compiles faster than `QUICK`


def quick_jit(
    fun: Callable[..., Any],
    equations: int = 0,
    donate: tuple[int, ...] = (),
    *,
    differentiates: bool = False,
) -> Any:
    """Return `jax.jit(fun)` with the options that compile it fastest.

    Args:
        fun: The function.
        equations: About how many equations its forward pass has.
        donate: The arguments whose memory outputs of the same shapes take.
        differentiates: Whether it has a backward pass, which has about as many equations.
    """
    total = 2 * equations if differentiates else equations
    options = DEEP if total > _DEEP else QUICK
    return jax.jit(fun, compiler_options=options, donate_argnums=donate)
