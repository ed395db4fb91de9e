"""Explain torch's exceptions, and say what JAX does instead."""

from collections.abc import Mapping
from typing import Any

from parity_tests.site.stepper.frame import Frame
from parity_tests.site.stepper.program import SteppedProgram
from parity_tests.site.stepper.sentences import is_zero, listed


def why(frame: Frame) -> str:
    """Explain an exception with the tensors that torch had saved."""
    node = frame.cells.get(f"{frame.row}.node")
    kept = frame.cells.get(f"{frame.row}.kept", ())
    freed, changed = (
        [entry["name"] for entry in kept if entry["state"] == state]
        for state in ("freed", "changed")
    )
    if frame.error.startswith("Trying to backward"):
        return (
            f"The first `backward()` freed {listed(freed)}, which `{node}` needs. "
            "`retain_graph=True` in the first call prevents this."
        )
    if "modified by an inplace" in frame.error:
        return (
            f"`{node}` needs {listed(changed)} as it was saved, at version 0, "
            "and `h += 1` has made it version 1."
        )
    if frame.error.startswith("Inference tensors cannot"):
        return "The gradient of `W2` needs `h`, and an inference tensor cannot be saved."
    if frame.error.startswith("Inplace update"):
        return "`h` is an inference tensor, and this line is outside of `inference_mode`."
    if frame.error.startswith("cannot register"):
        return "`h` does not require a gradient, so no gradient will ever reach a hook on it."
    assert frame.error.startswith("element 0 of tensors"), frame.error
    return "No weight that requires a gradient leads to the loss, so torch recorded nothing."


def instead(frame: Frame, program: SteppedProgram, last: Mapping[str, Any]) -> str:
    """Say what JAX does where torch raises.

    Args:
        frame: torch's last state.
        program: JAX's program.
        last: JAX's cells at the end of its program.
    """
    if frame.error.startswith("Trying to backward"):
        return "`vjp` keeps its residuals until it is deleted, and can be called again."
    if "inplace" in frame.error.lower():
        return (
            "`h = h + 1` makes a new array. The gradients are those of a program without this line."
        )
    if frame.error.startswith("cannot register"):
        return "The hook is a part of the function. No cotangent reaches it, so it never runs."
    if not program.weights:
        return "`vjp` returns an empty tuple, because `f` has no arguments."
    if program.weights == ("W1",) and is_zero(last["W1.grad"]):
        return "`vjp` returns zeros for `W1`."
    assert frame.error.startswith("Inference tensors cannot"), frame.error
    return "`stop_gradient` makes `h` a constant, and the VJP can keep a constant."
