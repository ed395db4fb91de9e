"""Errors in the user's model, inputs and outputs, each reported in one sentence."""

from __future__ import annotations

import os
import pathlib
import traceback
from collections.abc import Callable, Mapping, Sequence
from typing import Any, TypeVar

import jax
import jax.numpy as jnp
import numpy as np

from jaxgrad._core import compat
from jaxgrad.parity.interop import map_leaves, to_numpy
from jaxgrad.parity.prove.adapters import JaxFunction, ProofError
from jaxgrad.parity.prove.jax_side import program as jax_program
from jaxgrad.parity.prove.jax_side.program import JaxProgram
from jaxgrad.parity.prove.request import Request
from jaxgrad.parity.prove.training import as_training


_OWN = str(pathlib.Path(__file__).parents[2])  # frames below this are not the user's
_Result = TypeVar("_Result")


def check_arguments(request: Request) -> None:
    """Check the arguments that are pairs of functions or numbers."""
    for name, noun in (("outputs", "pick"), ("loss", "loss")):
        if not _is_pair(pair := getattr(request, name)):
            raise ProofError(
                f"{name}= needs a pair of functions (torch_{noun}, jax_{noun}), got {_shown(pair)}"
            )
    if request.optimizer is not None:
        as_training(request.optimizer)
    for name in ("seed", "steps"):
        number = getattr(request, name)
        if isinstance(number, bool) or not isinstance(number, int | np.integer) or number < 0:
            raise ProofError(f"{name}= needs an integer from 0 on, got {_shown(number)}")
    if request.steps and request.optimizer is None:
        raise ProofError(
            f"steps={request.steps} needs optimizer=(torch_factory, optax transformation)"
        )
    further_inputs(request)


def further_inputs(request: Request) -> list[Any]:
    """Return the inputs of `also=` as arrays, and check that each is like `inputs=`."""
    if not isinstance(request.also, list | tuple):
        raise ProofError(
            "also= needs a list of inputs, each like inputs=, as in also=[(x2,), (x3,)], got "
            f"{_shown(request.also)}"
        )
    if request.also and isinstance(request.module, str | os.PathLike):
        raise ProofError(f"also= needs the torch module; {request.module} is a dump of its runs")
    paths = jax_program.flat(as_arrays(request.inputs))[0] if request.also else []
    converted = []
    for k, inputs in enumerate(request.also):
        try:
            entry = as_arrays(inputs)
        except ProofError as error:
            raise ProofError(f"also[{k}]: {error}") from error
        other = jax_program.flat(entry)[0]
        if other != paths or isinstance(entry, Mapping) != isinstance(request.inputs, Mapping):
            raise ProofError(
                f"also[{k}] contains the inputs {other}, but inputs= contains {paths}: give also= "
                "a list of inputs, each like inputs=, as in also=[(x2,), (x3,)]"
            )
        converted.append(entry)
    return converted


def _is_pair(pair: Any) -> bool:
    return (
        type(pair) in (tuple, list)
        and len(pair) == 2
        and all(f is None or callable(f) for f in pair)
    )


def _shown(value: Any) -> str:
    """Return a short description of an argument's value for an error message."""
    text = repr(value)
    return text if len(text) <= 60 else f"{text[:57]}..."


def as_arrays(inputs: Any) -> Any:
    """Convert the inputs to numpy arrays, and floating inputs to float64."""
    if inputs is None:
        raise ProofError("inputs= is missing: pass a tuple of numpy arrays, one for each argument")
    if hasattr(inputs, "__array__"):
        inputs = (inputs,)
    if isinstance(inputs, list):
        inputs = tuple(inputs)
    if any(jax_program.is_key(x) for x in jax.tree.leaves(inputs)):
        raise ProofError(
            "inputs= contains a random key, which the torch module cannot take: pass a port that "
            "holds it, as in lambda params, *inputs: fn(params, *inputs, key)"
        )
    inputs = map_leaves(
        lambda x: jax_program.widened(to_numpy(x)) if hasattr(x, "dtype") else x, inputs
    )
    for path, x in zip(*jax_program.flat(inputs)[:2], strict=True):
        if np.issubdtype(x.dtype, np.inexact) and np.isnan(x).any():
            raise ProofError(
                f"input {path} of shape {x.shape} contains {int(np.isnan(x).sum())} NaN"
            )
    return inputs


def traced(model: JaxFunction, inputs: Any, request: Request) -> JaxProgram:
    """Trace the JAX model, and check that it leaks no tracers and returns a floating output."""
    options = request.outputs[1], request.loss[1], request.has_state

    def trace() -> JaxProgram:
        return jax_program.program(model.fn, model.params, inputs, *options)

    program = guarded(trace, inputs)
    try:
        with jax.checking_leaks():
            trace()
    except Exception as error:
        if "Leaked" in str(error):
            raise ProofError(
                "fn is not pure: it keeps a traced value in a list, a global or an attribute. "
                f"{_first_line(error)}"
            ) from error
    if not any(jnp.issubdtype(a.dtype, jnp.inexact) for a in program.jaxpr.out_avals):
        raise ProofError("fn has no floating output, so there is no gradient to compare")
    return program


def guarded(run: Callable[[], _Result], inputs: Any = ()) -> _Result:
    """Run the JAX model and report an exception raised by the user's code in one sentence."""
    try:
        return run()
    except ProofError:
        raise
    except compat.NEEDS_NUMBERS as error:
        raise ProofError(
            "fn cannot be traced: it uses numpy, float(), bool() or a Python `if` on a traced "
            f"value{_place(error)}. Use jax.numpy, jnp.where or lax.cond. {_first_line(error)}"
        ) from error
    except jax.errors.UnexpectedTracerError as error:
        raise ProofError(
            f"fn is not pure: it keeps a traced value after tracing. {_first_line(error)}"
        ) from error
    except Exception as error:
        count = len(jax_program.flat(inputs)[1]) if inputs else 0
        called = f"fn called with {count} inputs" if inputs else "fn"
        raise ProofError(
            f"JAX: {called} raised {type(error).__name__}{_place(error)}: {_first_line(error)}"
        ) from error


def _place(error: BaseException) -> str:
    """Return the innermost line of the user's code in a traceback."""
    frames = [
        f
        for f in traceback.extract_tb(error.__traceback__)
        if "site-packages" not in f.filename and not f.filename.startswith(_OWN)
    ]
    return f" at {frames[-1].filename}:{frames[-1].lineno}" if frames else ""


def _first_line(error: BaseException) -> str:
    return str(error).strip().split("\n")[0][:300]


def same_outputs(
    outputs: Mapping[str, np.ndarray], program: JaxProgram, jax_outputs: Sequence[np.ndarray]
) -> None:
    """Check that torch and JAX return the same number of outputs with the same shapes."""
    if len(outputs) != len(program.out_paths):
        names = ", ".join(n or "output" for n in program.out_paths)
        listed = ", ".join(f"{name or 'output'}{list(x.shape)}" for name, x in outputs.items())
        raise ProofError(
            f"torch returns {len(outputs)} outputs ({listed}), JAX returns "
            f"{len(program.out_paths)} ({names}); select the ones to compare with "
            "outputs=(torch_pick, jax_pick)"
        )
    for (name, x), path, y in zip(outputs.items(), program.out_paths, jax_outputs, strict=False):
        if x.shape != y.shape and not (name == "loss" and x.size == y.size):
            raise ProofError(
                f"output {name or path or 0}: torch returns shape {x.shape}, JAX returns "
                f"{y.shape}; if one is a transpose of the other, transpose it with "
                "outputs=(torch_pick, jax_pick)"
            )
