"""Compare the training step of a written port with the one that was proved when it was written.

Both steps call the port's entry as it is now, which `verify` proves by itself, so that they draw
the same random numbers.
"""

from __future__ import annotations

import ast
import contextlib
import dataclasses
import inspect
import linecache
import math
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np

from jaxgrad._core import paths
from jaxgrad.parity.interop import cast
from jaxgrad.parity.port.proof.step_functions import Steps
from jaxgrad.parity.prove import users
from jaxgrad.parity.prove.record.adapters import float64_on_cpu
from jaxgrad.parity.prove.report import Report, Surface


PROVED = "the train_step that was proved"
NAMES = ("loss_fn", "OPTIMIZER", "init_optimizer", "train_step")
STEPS = 3
FACTORS = (1.0, 1000.0)  # of the loss: clipping that the batch does not need acts on the second
_TOLERANCE = 1e-5  # relative to the largest change of a step
_MOST_STEPS, _ELEMENTS = 10_000, 10**8  # of the optimizers alone

Space = dict[str, Any]


@dataclasses.dataclass(frozen=True)
class StepProof:
    """What is needed to compare a training step with the proved one.

    Attributes:
        name: The name of its report.
        file: The path of the port.
        source: The contents of the file now.
        proved: Its contents when the training step was proved.
        entry: The name of the port's entry.
        make: Function from the names that a source defines to its training step.
        batch: The inputs and targets of the training step.
    """

    name: str
    file: str
    source: str
    proved: str
    entry: str
    make: Callable[[Space], Steps]
    batch: tuple[Any, ...]


class Changed(Exception):
    """The training step is not the one that was proved; the message says where."""


def verified(step: StepProof) -> Report:
    """Return the report of a training step."""
    try:
        text = _compared(step)
    except Changed as error:
        text = f"{error}. Undo the change, or port the module with the new optimizer="
        return _report(step, "fail", f"train_step was changed since it was proved: {text}")
    except users.ProofError as error:
        return _report(step, "error", str(error))
    return _report(step, "pass", text)


def _report(step: StepProof, verdict: str, text: str) -> Report:
    return Report(verdict, {"updates": Surface("updates", verdict, text)}, name=step.name)


def _compared(step: StepProof) -> str:
    """Return how the training step agrees with the proved one.

    Raises:
        Changed: They differ.
        ProofError: The proved one cannot run with the port as it is now.
    """
    if ast.dump(ast.parse(step.source)) == ast.dump(ast.parse(step.proved)):
        return "the file is the one whose train_step was proved, so train_step was not run again"
    with _changed(step.file):
        defined = _executed(step.source, step.file)
    missing = [name for name in NAMES if name not in defined]
    if missing:
        raise Changed(f"{step.file} does not define {' and '.join(missing)}")
    with float64_on_cpu():
        for factor in FACTORS:
            _compare_steps(step, factor)
        count = _compare_optimizers(step)
    given = f", and OPTIMIZER the same {count} steps with given gradients" if count else ""
    return (
        f"the file was edited, but with its model train_step makes the same {STEPS} steps as the "
        f"one that was proved{given}; the other modes compare the model"
    )


def _executed(source: str, file: str) -> Space:
    """Return the names that a source defines."""
    linecache.checkcache(file)
    space: Space = {"__name__": "port", "__file__": file}
    exec(compile(source, file, "exec"), space)
    return space


def _spaces(step: StepProof, factor: float) -> tuple[Space, Space]:
    """Return the names of the port as it is and as it was proved, with a multiple of the loss."""
    now = _executed(step.source, step.file)
    before = _executed(step.proved, f"<{step.file} as it was proved>")
    before[step.entry] = now[step.entry]
    for space in (now, before):
        space["loss_fn"] = _times(space["loss_fn"], factor)
    return now, before


def _times(loss: Callable[..., Any], factor: float) -> Callable[..., Any]:
    def scaled(*args: Any, **options: Any) -> Any:
        result = loss(*args, **options)
        return (result[0] * factor, *result[1:]) if isinstance(result, tuple) else result * factor

    scaled.__signature__ = inspect.signature(loss)  # pyright: ignore[reportFunctionMemberAccess]
    return scaled


def _compare_steps(step: StepProof, factor: float) -> None:
    """Compare some training steps.

    Raises:
        Changed: They differ, or the port's raises.
        ProofError: The proved one raises.
    """
    now, before = (step.make(space) for space in _spaces(step, factor))
    batch = jax.tree.map(_wide, step.batch)
    start = params = old_params = before.params
    with users.running(f"{PROVED}, with the port as it is now,"):
        first_state = old_state = before.init(start)
    with _changed("init_optimizer"):
        state = now.init(start)
    given = "" if factor == 1 else f" with {factor:g} times the loss"
    for number in range(1, STEPS + 1):
        with users.running(f"{PROVED}, with the port as it is now,"):
            old_params, old_state, old_loss = before.step(old_params, old_state, *batch)
        with _changed("train_step"):
            params, state, loss = now.step(params, state, *batch)
        for what, new, old, first in (
            ("the loss", loss, old_loss, np.zeros_like(old_loss)),
            ("the optimizer's state", state, old_state, first_state),
            ("the tree of params", params, old_params, start),
        ):
            if difference := _difference(new, old, first):
                raise Changed(f"{what}{difference}, in step {number}{given}")


@contextlib.contextmanager
def _changed(name: str) -> Iterator[None]:
    try:
        yield
    except Exception as error:
        raise Changed(f"{name} raises {users.described(error)}") from error


def _compare_optimizers(step: StepProof) -> int:
    """Give both optimizers the same gradients; return the number of steps.

    Raises:
        Changed: They give different parameters.
        ProofError: The proved one raises.
    """
    spaces = _spaces(step, 1.0)
    trained = step.make(spaces[1]).trained
    size = sum(np.size(x) for x in jax.tree.leaves(trained))
    most = max(10, min(_MOST_STEPS, _ELEMENTS // max(size, 1)))
    now, before = (_trajectory(space["OPTIMIZER"], trained) for space in spaces)
    new = old = None
    done = 0
    while done < most:
        following = min(max(10 * done, 1), most)
        with users.running("the OPTIMIZER that was proved"):
            old = before(done, following, old)
        with _changed("OPTIMIZER"):
            new = now(done, following, new)
        done = following
        if difference := _difference(new[0], old[0], trained):
            raise Changed(f"given the same gradients, OPTIMIZER differs within {done} steps: "
                          f"the tree of params{difference}")  # fmt: skip
    return most


def _trajectory(optimizer: Any, start: Any) -> Callable[[int, int, Any], Any]:
    """Return a function that continues the params and the state from a step to a later one.

    The gradients depend on the number of the step and on the params before the first one.
    """

    def body(number: Any, carry: Any) -> Any:
        params, state = carry
        grads = jax.tree.map(lambda x: jnp.cos(number) * x + jnp.sin(2.0 * number), start)
        return optimizer.step(grads, state, params)

    run = jax.jit(lambda first, last, carry: jax.lax.fori_loop(first, last, body, carry))
    return lambda first, last, carry: run(first, last, carry or (start, optimizer.init(start)))


def _wide(x: Any) -> Any:
    return cast(np.asarray(x), np.float64) if hasattr(x, "dtype") else x


def _difference(new: Any, old: Any, start: Any) -> str:
    """Return " differs at a/weight by ..." for the leaf that differs most, or "" if all agree.

    What is allowed is relative to the largest change of a leaf since the start.
    """
    if jax.tree.structure(new) != jax.tree.structure(old):
        return " has another structure"
    names = [path for path, _ in paths.named(old)]
    leaves, wanted, first = (
        [np.asarray(x) for x in jax.tree.leaves(tree)] for tree in (new, old, start)
    )
    floats = [(x, y) for x, y in zip(wanted, first, strict=True) if _is_inexact(x)]
    scale = max((_largest(x - y) for x, y in floats), default=0.0)
    allowed = _TOLERANCE * scale + 1e-12 * max((_largest(x) for x, _ in floats), default=0.0)
    worst, text = 1.0, ""
    for name, x, y in zip(names, leaves, wanted, strict=True):
        if np.array_equal(x, y, equal_nan=_is_inexact(y)):
            continue
        place = f" at {name}" if name else ""
        if x.shape != y.shape or not _is_inexact(y):
            return f" differs{place}: {_shown(x)}, in the proved one {_shown(y)}"
        size = _largest(x - y)
        if not size <= allowed * worst:
            worst = size / allowed if allowed else math.inf
            share = f"{size / scale:.1g}" if scale else "inf"
            text = f" differs{place} by {share} (relative to its largest change)"
            if y.size == 1:
                text = f" differs{place}: {_shown(x)}, in the proved one {_shown(y)}"
    return text


def _shown(x: np.ndarray) -> str:
    return f"{x.item():.6g}" if x.size == 1 else f"an array of shape {x.shape}"


def _largest(x: np.ndarray) -> float:
    return float(np.max(np.abs(x))) if x.size else 0.0


def _is_inexact(x: np.ndarray) -> bool:
    return np.issubdtype(x.dtype, np.inexact)
