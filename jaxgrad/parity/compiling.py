"""XLA's options for programs that run only a few times: optimizing takes longer than running."""

from typing import Any

import jax


QUICK: dict[str, Any] = {
    "xla_backend_optimization_level": 0,
    "xla_llvm_disable_expensive_passes": True,
    "xla_cpu_parallel_codegen_split_count": 1,
}
if jax.__version_info__ < (0, 11):  # JAX 0.11 removed this option, which halves the compile time
    QUICK["xla_cpu_use_fusion_emitters"] = False
