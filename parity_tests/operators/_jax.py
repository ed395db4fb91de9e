"""JAX's side of the jobs of one operator, in one compiled program."""

from collections.abc import Callable, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxgrad.parity.interop import to_jax, to_numpy
from parity_tests.operators._jobs import Job


# Thousands of small programs that run once: compiling them well costs more than running them.
QUICK = {
    "xla_backend_optimization_level": 0,
    "xla_llvm_disable_expensive_passes": True,
    "xla_cpu_use_fusion_emitters": False,
}


def run(
    funs: Sequence[Callable[..., Any]],
    jobs: Sequence[Job],
    cotangents: Sequence[list[np.ndarray]],
    directions: Sequence[list[np.ndarray]],
    *,
    compiled: bool = True,
) -> list[Any]:
    """Observe each function on its job; an exception stands in the place of what it prevented."""
    errors: dict[int, Exception] = {}

    def program(arrays: Any, cotangents: Any, directions: Any) -> list[Any]:
        found = []
        for i, (fun, job) in enumerate(zip(funs, jobs, strict=True)):
            try:
                seen = _observe(fun, job, arrays[i], cotangents[i], directions[i])
            except Exception as error:
                errors[i] = error
                seen = None
            found.append(seen)
        return found

    if compiled:
        program = jax.jit(program, compiler_options=QUICK)
    arrays = to_jax([job.arrays for job in jobs])
    found = to_numpy(program(arrays, to_jax(list(cotangents)), to_jax(list(directions))))
    return [errors.get(i, seen) for i, seen in enumerate(found)]


def _observe(
    fun: Callable[..., Any], job: Job, arrays: list[Any], cotangents: list[Any], along: list[Any]
) -> dict[str, Any]:
    names = [job.names[i] for i in job.differentiable]

    def forward(inputs: list[Any]) -> tuple[list[Any], list[Any]]:
        filled = list(arrays)
        for i, x in zip(job.differentiable, inputs, strict=True):
            filled[i] = x
        args, kwargs = job.rebuild(filled)
        outs = jax.tree.leaves(fun(*args, **kwargs, **dict(job.options)))
        return [y for y in outs if jnp.issubdtype(y.dtype, jnp.inexact)], outs

    def backward(inputs: list[Any], cotangents: list[Any]) -> tuple[list[Any], list[Any]]:
        live, pull, outs = jax.vjp(forward, inputs, has_aux=True)
        if [(y.shape, y.dtype) for y in live] != [(c.shape, c.dtype) for c in cotangents]:
            return [], outs  # the comparison of the forward says what is wrong
        return _conjugate(pull(_conjugate(cotangents))[0]), outs

    inputs = [arrays[i] for i in job.differentiable]
    if not inputs or not cotangents:
        return {"forward": forward(inputs)[1], "gradient": dict.fromkeys(names)}
    if not job.full:
        gradients, outs = backward(inputs, cotangents)
        return {"forward": outs, "gradient": _named(names, gradients)}
    gradients, pull, outs = jax.vjp(backward, inputs, cotangents, has_aux=True)
    if not gradients:
        return {"forward": outs, "gradient": {}}
    second, transpose = _conjugate(pull(_conjugate(along)))
    return {
        "forward": outs,
        "gradient": _named(names, gradients),
        "second": _named(names, second),
        "transpose": transpose,
        "tangent": jax.jvp(lambda xs: forward(xs)[0], [inputs], [along])[1],
    }


def _named(names: list[str], values: list[Any]) -> dict[str, Any]:
    return dict(zip(names, values, strict=len(values) > 0))


def _conjugate(tree: Any) -> Any:
    """torch's gradient by a complex number is the conjugate of JAX's, and so are cotangents."""
    return jax.tree.map(lambda x: jnp.conj(x) if jnp.iscomplexobj(x) else x, tree)
