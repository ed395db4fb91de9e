"""Errors in the user's model, inputs and outputs, each reported in one sentence."""

from __future__ import annotations

import os
import re
from collections.abc import Callable, Container, Mapping, Sequence
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from jaxgrad._core import compat
from jaxgrad.parity.interop import map_leaves, to_numpy
from jaxgrad.parity.prove.record.adapters import JaxFunction
from jaxgrad.parity.prove.record.jax_side import program as jax_program
from jaxgrad.parity.prove.record.jax_side import purity
from jaxgrad.parity.prove.record.jax_side.layouts import SAME, Layout
from jaxgrad.parity.prove.record.jax_side.program import JaxProgram
from jaxgrad.parity.prove.record.sides import PerSide, as_pair
from jaxgrad.parity.prove.request import Request
from jaxgrad.parity.prove.text import counted
from jaxgrad.parity.prove.training import as_training, check_factory, check_transformation
from jaxgrad.parity.prove.users import ProofError, described, first_line, place_of, running, shown
from jaxgrad.parity.prove.waivers import as_waivers
from jaxgrad.parity.prove.wording import REFERENCES


_Result = TypeVar("_Result")


def check_arguments(request: Request) -> None:
    """Check the arguments that are pairs of functions, functions or numbers."""
    for name, noun in (("outputs", "pick"), ("loss", "loss")):
        if not _is_pair(pair := getattr(request, name)):
            raise ProofError(
                f"{name}= needs a pair of functions (torch_{noun}, jax_{noun}), got {shown(pair)}"
            )
    if request.optimizer is not None:
        training = as_training(request.optimizer)
        if training.torch is not None:  # a dump needs no factory
            check_factory(training.torch)
        check_transformation(training.optax)
    as_waivers(request.accept)
    if request.weights is not None and not (
        callable(request.weights) or isinstance(request.weights, Mapping)
    ):
        raise ProofError(
            "weights= needs a converter state_dict -> params, or a dict from torch names to a "
            f"path, (path, axes) or (path, function), got {shown(request.weights)}"
        )
    if not isinstance(request.has_state, bool):
        raise ProofError(f"has_state= needs True or False, got {shown(request.has_state)}")
    seed = request.seed
    if isinstance(seed, bool) or not isinstance(seed, int | np.integer) or seed < 0:
        raise ProofError(f"seed= needs an integer from 0 on, got {shown(seed)}")
    check_steps(request.steps, request.optimizer)
    further_inputs(request)


def check_reference(reference: Any) -> None:
    """Check the framework of the original."""
    if not isinstance(reference, str) or reference not in REFERENCES:
        raise ProofError(
            f'reference= needs "torch" or "jax", the framework of the original, got '
            f"{shown(reference)}"
        )


def check_steps(steps: Any, optimizer: Any) -> None:
    """Check the number of optimizer steps; None is allowed with and without an optimizer."""
    if steps is None:
        return
    if isinstance(steps, bool) or not isinstance(steps, int | np.integer) or steps < 0:
        raise ProofError(f"steps= needs a positive integer, got {shown(steps)}")
    if steps > 1 and optimizer is None:
        raise ProofError(f"steps={steps} needs optimizer=(torch_factory, optax transformation)")
    if not steps and optimizer is not None:
        raise ProofError(
            "steps=0 compares no step of optimizer=: pass steps=1 or more, or leave optimizer= out"
        )


def as_limit(limit: Any) -> float | None:
    """Return the argument `time_limit=`, a positive number of seconds or None."""
    if limit is None:
        return None
    number = isinstance(limit, int | float | np.integer | np.floating)
    if isinstance(limit, bool) or not number or not limit > 0:
        raise ProofError(f"time_limit= needs a positive number of seconds, got {shown(limit)}")
    return float(limit)


def further_inputs(request: Request, per_side: bool = False) -> list[Any]:
    """Return the inputs of `also=` as arrays, and check that each is like `inputs=`.

    If `per_side` is true, an entry may be a pair of inputs for torch and for the port.
    """
    if not isinstance(request.also, list | tuple):
        raise ProofError(
            "also= needs a list of inputs, each like inputs=, as in also=[(x2,), (x3,)], got "
            f"{shown(request.also)}"
        )
    if request.also and isinstance(request.module, str | os.PathLike):
        raise ProofError(f"also= needs the torch module; {request.module} is a dump of its runs")
    if not request.also:
        return []
    first = _converted(request.inputs, per_side)
    converted = []
    for k, inputs in enumerate(request.also):
        try:
            entry = _converted(inputs, per_side)
        except ProofError as error:
            raise ProofError(f"also[{k}]: {error}") from error
        paths, other = _paths(first), _paths(entry)
        if other != paths or type(entry) is not type(first):
            raise ProofError(
                f"also[{k}] contains the inputs {other}, but inputs= contains {paths}: give also= "
                "a list of inputs, each like inputs=, as in also=[(x2,), (x3,)]"
            )
        converted.append(entry)
    return converted


def _converted(inputs: Any, per_side: bool) -> Any:
    """Convert inputs to arrays, those of a pair for each framework."""
    pair = as_pair(inputs) if per_side or isinstance(inputs, PerSide) else None
    return as_arrays(inputs) if pair is None else arrays_per_side(pair)


def _paths(inputs: Any) -> list[str]:
    return jax_program.flat(inputs.torch if isinstance(inputs, PerSide) else inputs)[0]


def _is_pair(pair: Any) -> bool:
    return (
        type(pair) in (tuple, list)
        and len(pair) == 2
        and all(f is None or callable(f) for f in pair)
    )


def arrays_per_side(pair: PerSide) -> PerSide:
    """Convert the inputs of both frameworks to arrays."""
    if pair.jax is None:
        raise ProofError("inputs=PerSide(...) needs jax=, a tuple of the port's inputs")
    return PerSide(as_arrays(pair.torch), as_arrays(pair.jax))


def as_arrays(inputs: Any) -> Any:
    """Convert the inputs to numpy arrays, and floating inputs to float64."""
    if inputs is None:
        raise ProofError("inputs= is missing: pass a tuple of numpy arrays, one for each argument")
    if hasattr(inputs, "__array__"):
        inputs = (inputs,)
    if isinstance(inputs, list):
        inputs = tuple(inputs)
    if not isinstance(inputs, tuple | Mapping) or (
        isinstance(inputs, Mapping) and not all(isinstance(key, str) for key in inputs)
    ):
        raise ProofError(
            "inputs= needs a tuple of numpy arrays, one for each argument, or a dict from argument "
            f"names to arrays, got {shown(inputs)}"
        )
    with running("inputs= is not a tree that JAX accepts: jax.tree.leaves"):
        leaves = jax.tree.leaves(inputs)
    if any(jax_program.is_key(x) for x in leaves):
        raise ProofError(
            "inputs= contains a random key, which the torch module cannot take: pass a port that "
            "holds it, as in lambda params, *inputs: fn(params, *inputs, key)"
        )
    inputs = map_leaves(
        lambda x: jax_program.widened(to_numpy(x)) if hasattr(x, "dtype") else x, inputs
    )
    for path, x in zip(*jax_program.flat(inputs)[:2], strict=True):
        if x.dtype.kind not in "biufc":
            raise ProofError(
                f"input {path} of shape {x.shape} has dtype {x.dtype}, which holds no numbers: "
                "pass an array of numbers, with rows of one length"
            )
        if np.issubdtype(x.dtype, np.inexact) and np.isnan(x).any():
            raise ProofError(
                f"input {path} of shape {x.shape} contains {int(np.isnan(x).sum())} NaN"
            )
    return inputs


def traced(
    model: JaxFunction,
    inputs: Any,
    request: Request,
    layout: Layout = SAME,
    known: Container[int] = (),
) -> tuple[JaxProgram, tuple[str, ...]]:
    """Trace the JAX model, and return notes if it is not a pure function.

    The values of the `known` leaves of params are not needed.
    """
    options = request.outputs[1], request.loss[1], request.has_state
    kept = purity.Kept(model.fn)

    def trace() -> JaxProgram:
        return jax_program.program(kept, model.params, inputs, *options, layout, known)

    program = guarded(trace, inputs)
    outputs = program.jaxpr.out_avals[: len(program.out_paths)]
    if not any(jnp.issubdtype(a.dtype, jnp.inexact) for a in outputs):
        returned = "fn returns" if request.outputs[1] is None else "outputs=: jax_pick returns"
        raise ProofError(f"{returned} no floating output, so there is no gradient to compare")
    return program, tuple(purity.notes(kept, program, trace))


def guarded(run: Callable[[], _Result], inputs: Any = ()) -> _Result:
    """Run the JAX model and report an exception raised by the user's code in one sentence."""
    try:
        return run()
    except ProofError:
        raise
    except compat.NEEDS_NUMBERS as error:
        raise ProofError(
            "fn cannot be traced: it uses numpy, float(), bool() or a Python `if` on a traced "
            f"value{place_of(error)}. Use jax.numpy, jnp.where or lax.cond. {first_line(error)}"
        ) from error
    except jax.errors.UnexpectedTracerError as error:
        raise ProofError(
            f"fn is not pure: it keeps a traced value after tracing. {first_line(error)}"
        ) from error
    except Exception as error:
        count = len(jax_program.flat(inputs)[1]) if inputs else 0
        called = f"fn called with {counted(count, 'input')}" if inputs else "fn"
        text = f"JAX: {called} raised {described(error)}"
        if isinstance(error, TypeError) and "must be Tensor, not" in str(error):
            raise ProofError(
                f"fn calls torch{place_of(error)} with a JAX array: pass the JAX port, which calls "
                "jax.numpy there"
            ) from error
        if re.search("reshard|set_mesh", str(error)):
            text = f"{text.rstrip('. ')}. {_EXPLICIT}"
        raise ProofError(text) from error


_EXPLICIT = (
    "prove passes arrays on one device. If the mesh has Explicit axes, as jax.make_mesh gives, "
    "make it with axis_types=(jax.sharding.AxisType.Auto,) * n for its n axes; or call prove "
    "inside `with jax.set_mesh(mesh):` and let fn shard its inputs with jax.sharding.reshard"
)


def may_return_state(count: int, program: JaxProgram) -> bool:
    """Whether fn returns a pair, the first part of which has torch's number of outputs."""
    heads = [path.split("/")[0] for path in program.out_paths]
    return not program.state_paths and set(heads) == {"0", "1"} and heads.count("0") == count


def same_outputs(
    outputs: Mapping[str, np.ndarray], program: JaxProgram, jax_outputs: Sequence[np.ndarray]
) -> None:
    """Check that torch and JAX return the same number of outputs with the same shapes."""
    if len(outputs) != len(program.out_paths):
        names = ", ".join(n or "output" for n in program.out_paths)
        listed = ", ".join(f"{name or 'output'}{list(x.shape)}" for name, x in outputs.items())
        state = ""
        if may_return_state(len(outputs), program):
            state = "if fn returns (outputs, new_state), pass has_state=True; otherwise "
        raise ProofError(
            f"torch returns {counted(len(outputs), 'output')} ({listed}), JAX returns "
            f"{len(program.out_paths)} ({names}); {state}select the ones to compare with "
            "outputs=(torch_pick, jax_pick)"
        )
    for (name, x), path, y in zip(outputs.items(), program.out_paths, jax_outputs, strict=False):
        if x.shape != y.shape and not (name == "loss" and x.size == y.size):
            raise ProofError(
                f"output {name or path or 0}: torch returns shape {x.shape}, JAX returns "
                f"{y.shape}; {_remedy(x.shape, y.shape)}outputs=(torch_pick, jax_pick)"
            )


def _remedy(of_torch: tuple[int, ...], of_jax: tuple[int, ...]) -> str:
    """Say what to do about two outputs of different shapes, up to the name of the argument."""
    if sorted(of_torch) == sorted(of_jax):
        return "if one is a transpose of the other, transpose it with "
    if [n for n in of_torch if n != 1] != [n for n in of_jax if n != 1]:
        return "return the same values from both, or select them with "
    count = len(of_torch) - len(of_jax)
    axes, them = ("an axis", "it") if abs(count) == 1 else (f"{abs(count)} axes", "them")
    if count < 0:
        return f"JAX's output has {axes} of size 1 more: drop {them} in fn, or reshape it with "
    return (
        f"JAX's output lacks {axes} of size 1, which a squeeze or an index such as [:, 0] drops: "
        f"keep {them} in fn, or reshape it with "
    )
