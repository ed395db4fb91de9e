"""Run the jobs of one operator in JAX, as one compiled program."""

import functools
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxgrad.parity.compiling import QUICK
from jaxgrad.parity.interop import to_jax, to_numpy
from parity_tests.operators._harness import store as _store
from parity_tests.operators._harness.jobs import Job


class Raised(NamedTuple):
    """An exception that was raised instead of an observation."""

    type: str
    text: str


def run(
    funs: Sequence[Callable[..., Any]],
    jobs: Sequence[Job],
    cotangents: Sequence[list[np.ndarray]],
    directions: Sequence[list[np.ndarray]],
    *,
    name: str | None,
) -> list[Any]:
    """Observe each function on its job, with `Raised` in place of a failed observation.

    Jobs that differ only in the values of their arrays share one program, which loops over them.

    Args:
        funs: The function of each observation.
        jobs: The job of each observation.
        cotangents: The cotangents of each observation.
        directions: The tangent directions of each observation.
        name: Name of the file that stores the compiled program; None runs op by op.
    """
    compiled = name is not None
    inputs = [(j.arrays, c, d) for j, c, d in zip(jobs, cotangents, directions, strict=True)]
    groups: dict[Any, list[int]] = {}
    for i, (fun, job) in enumerate(zip(funs, jobs, strict=True)):
        groups.setdefault(_signature(fun, job, inputs[i]) if compiled else i, []).append(i)
    errors: dict[int, Raised] = {}

    def observations(batches: list[Any]) -> list[Any]:
        observed = []
        for members, batch in zip(groups.values(), batches, strict=True):
            # If one member needs second derivatives, the group computes them.
            job = jobs[max(members, key=lambda i: jobs[i].second_order)]
            observe = functools.partial(_observe, funs[members[0]], job)
            try:
                observed.append(observe(batch) if len(members) == 1 else lax.map(observe, batch))
            except Exception as error:
                raised = Raised(type(error).__name__, str(error))
                errors.update(dict.fromkeys(members, raised))
                observed.append(None)
        return observed

    batches = [
        inputs[members[0]]
        if len(members) == 1
        else jax.tree.map(lambda *x: np.stack(x), *(inputs[i] for i in members))
        for members in groups.values()
    ]
    batched = to_jax(batches)
    program: Any = observations
    if name is not None:
        key = _store.key(funs, [job.label for job in jobs], batched)
        program = _store.compiled(observations, batched, QUICK, key, _store.file(name), errors)
    observations_by_job: dict[int, Any] = {}
    for members, batch in zip(groups.values(), to_numpy(program(batched)), strict=True):
        for k, i in enumerate(members):
            one = batch if len(members) == 1 else jax.tree.map(lambda x, k=k: x[k], batch)
            observations_by_job[i] = errors.get(i, one)
    return [observations_by_job[i] for i in range(len(jobs))]


def _signature(fun: Callable[..., Any], job: Job, inputs: Any) -> Any:
    """Return what determines the program of a job: its function, options, shapes and dtypes."""
    leaves, treedef = job.static
    shapes = [(x.shape, str(x.dtype)) for x in jax.tree.leaves(inputs)]
    return fun, job.options, repr(leaves), treedef, repr(shapes)


def _observe(fun: Callable[..., Any], job: Job, inputs: Any) -> dict[str, Any]:
    arrays, cotangents, along = inputs
    names = [job.names[i] for i in job.differentiable]

    def forward(inputs: list[Any]) -> tuple[list[Any], list[Any]]:
        filled = list(arrays)
        for i, x in zip(job.differentiable, inputs, strict=True):
            filled[i] = x
        args, kwargs = job.rebuild(filled)
        outs = jax.tree.leaves(fun(*args, **kwargs, **dict(job.options)))
        return [y for y in outs if jnp.issubdtype(y.dtype, jnp.inexact)], outs

    def backward(inputs: list[Any], cotangents: list[Any]) -> tuple[list[Any], Any]:
        live, push, outs = jax.linearize(forward, inputs, has_aux=True)
        if [(y.shape, y.dtype) for y in live] != [(c.shape, c.dtype) for c in cotangents]:
            return [], (outs, None)  # comparing the outputs reports the problem
        pull = jax.linear_transpose(push, inputs)
        return _conjugate(pull(_conjugate(cotangents))[0]), (outs, push)

    inputs = [arrays[i] for i in job.differentiable]
    if not inputs or not cotangents:
        return {"forward": forward(inputs)[1], "gradient": dict.fromkeys(names)}
    if not job.second_order:
        gradients, (outs, _) = backward(inputs, cotangents)
        return {"forward": outs, "gradient": _named(names, gradients)}
    gradients, pull, (outs, push) = jax.vjp(backward, inputs, cotangents, has_aux=True)
    if not gradients:
        return {"forward": outs, "gradient": {}}
    second, transpose = _conjugate(pull(_conjugate(along)))
    return {
        "forward": outs,
        "gradient": _named(names, gradients),
        "second": _named(names, second),
        "transpose": transpose,
        "tangent": push(along),
    }


def _named(names: list[str], values: list[Any]) -> dict[str, Any]:
    return dict(zip(names, values, strict=len(values) > 0))


def _conjugate(tree: Any) -> Any:
    """Conjugate complex leaves, because torch's complex gradients are conjugates of JAX's."""
    return jax.tree.map(lambda x: jnp.conj(x) if jnp.iscomplexobj(x) else x, tree)
