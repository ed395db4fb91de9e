"""Say in a sentence what happens in a step; everything said is read from the state.

Names of variables and code are in backticks.
"""

from collections.abc import Iterable, Mapping
from typing import Any

from parity_tests.site.stepper.frame import Frame
from parity_tests.site.stepper.program import Line, SteppedProgram


Cells = Mapping[str, Any]


def torch_sentence(program: SteppedProgram, frame: Frame, before: Cells) -> str:
    """Say what torch does in a step.

    Args:
        program: torch's program.
        frame: The state after the step.
        before: The cells before the step.
    """
    cells, row = frame.cells, frame.row
    if frame.error:
        return f"torch raises a `RuntimeError` {_where(program, frame)}."
    if frame.key == "start":
        frozen = [name for name in ("W1", "W2") if name not in program.weights]
        if not frozen:
            return "`W1` and `W2` require gradients; `x` does not."
        return f"`requires_grad` is False for {listed(frozen)}: torch treats {_it(frozen)} as data."
    if frame.key == row and row not in "12":
        return _torch_line(_line(program, row), frame, before)
    if frame.key == row:
        which = "The second `backward()`" if row == "2" else "`backward()`"
        return f"{which} starts at the loss, whose gradient is 1."
    if frame.key.endswith("return"):
        return _torch_return(cells)
    if row == "hook":
        return "The hook halves the gradient of `h`. It runs before the node of `h` does."
    if row in program.weights:
        verb = "adds to" if before[f"{row}.grad"] is not None else "fills"
        return f"`AccumulateGrad` {verb} `{row}.grad`."
    freed = [kept["name"] for kept in before[f"{row}.kept"] if kept["state"] == "kept"]
    flown = _flown(cells, before)
    text = f"`{cells[f'{row}.node']}` computes the {_gradients('gradient', flown)}"
    if not freed:
        return f"{text}."
    if any(kept["state"] == "kept" for kept in cells[f"{row}.kept"]):
        return f"{text}. `retain_graph=True` lets it keep {listed(freed)}."
    return f"{text}. torch frees its saved {listed(freed)}."


def _torch_line(line: Line, frame: Frame, before: Cells) -> str:
    cells, row = frame.cells, frame.row
    if row == "hook":
        return "torch attaches the hook to `h`: it will run on the gradient of `h`."
    if row == "stop":
        if not before["h.requires"]:
            return "`detach()` changes nothing here: `h` has no node."
        text = "`detach()` returns the same numbers without a node."
        dead = [name.partition(".")[0] for name in cells if name.endswith(".dead")]
        if not dead:
            return f"{text} No gradient flows back past it."
        nodes = " and ".join(f"its `{cells[f'{name}.node']}`" for name in dead)
        saved = listed(entry["name"] for name in dead for entry in cells[f"{name}.kept"])
        return (
            f"{text} The name {listed(dead)} now means the new tensor. Nothing holds the old one "
            f"any more: it dies with {nodes}, which frees the saved {saved}."
        )
    if row == "in_place":
        hurt = [
            name.partition(".")[0]
            for name, kept in cells.items()
            if name.endswith(".kept") and any(k["state"] == "changed" for k in kept)
        ]
        text = "`h += 1` changes the memory of `h`: its version is now 1."
        nodes = " and ".join(f"the `{cells[f'{name}.node']}` of `{name}`" for name in hurt)
        return f"{text} Version 0 was saved for {nodes}." if hurt else text
    if f"{row}.node" not in cells:
        if "no_grad" in line.within:
            return f"Inside `no_grad`, torch computes `{line.name}` and records nothing."
        if "inference_mode" in line.within:
            return f"torch makes `{line.name}` an inference tensor and records nothing."
        return f"torch computes `{line.name}`. No input requires a gradient: nothing is recorded."
    kept = [kept["name"] for kept in cells[f"{row}.kept"]]
    node = cells[f"{row}.node"]
    if not kept:
        return f"torch computes `{line.name}` and records `{node}`, which needs no saved tensor."
    return f"torch computes `{line.name}`, records `{node}` and saves {listed(kept)} for it."


def _torch_return(cells: Cells) -> str:
    weights = [name for name in ("W1", "W2") if cells[f"{name}.requires"]]
    empty = [f"{name}.grad" for name in weights if cells[f"{name}.grad"] is None]
    if empty:
        return f"`backward()` is done. {listed(empty)} is still None: no gradient reached it."
    return "`backward()` is done."


def jax_sentence(program: SteppedProgram, frame: Frame, before: Cells) -> str:
    """Say what JAX does in a step; the arguments are those of `torch_sentence`."""
    cells, row = frame.cells, frame.row
    if frame.key == "start":
        frozen = [name for name in ("W1", "W2") if name not in program.weights]
        call = _line(program, "start").text.partition("= ")[2]
        start = f"`{call}` starts to run `f`."
        if not frozen:
            return start
        if len(frozen) == 1:
            return f"{start} {listed(frozen)} is not an argument of `f`, so it is a constant."
        return f"{start} {listed(frozen)} are not arguments of `f`, so they are constants."
    if frame.key == "del":
        held = [name for name in cells if name.endswith(".kept")]
        return "`del vjp` frees the residuals." if held else "`vjp` held no residuals."
    if frame.key == row and row not in "12":
        return _jax_line(program, frame)
    if frame.key == row:
        return "`vjp(1.0)` starts with the cotangent 1 of the loss."
    if frame.key.endswith("return"):
        return _jax_return(program, frame)
    ran = ", ".join(f"`{name}`" for name in cells[f"{row}.ran"])
    gives = "which gives" if len(cells[f"{row}.ran"]) == 1 else "which give"
    return f"JAX runs {ran}, {gives} the {_gradients('cotangent', _flown(cells, before))}."


def _jax_line(program: SteppedProgram, frame: Frame) -> str:
    row, line = frame.row, _line(program, frame.row)
    constant = "W1" not in program.weights
    if row == "stop":
        if constant:
            return "`stop_gradient` changes nothing here: `h` is a constant."
        return "No gradient flows back past `stop_gradient`: the lines above are not in the VJP."
    if row == "hook":
        if constant or any(line.key == "stop" for line in program.lines):
            return "`h` is a constant for the VJP, so the hook will never run."
        return "The hook is now a part of the program: the VJP contains its multiplication."
    if row == "in_place":
        kept = any(kept["name"] == "h" for kept in frame.cells.get("y.kept", ()))
        text = "Arrays do not change: `h + 1` is a new array"
        return f"{text}, and the VJP still keeps the old `h`." if kept else f"{text}."
    kept = [kept["name"] for kept in frame.cells.get(f"{row}.kept", ())]
    name = line.name
    return f"JAX computes `{name}`" + (f" and keeps {listed(kept)} for the VJP." if kept else ".")


def _jax_return(program: SteppedProgram, frame: Frame) -> str:
    if not program.weights:
        return "`vjp` returns an empty tuple: `f` has no arguments."
    zero = [name for name in program.weights if is_zero(frame.cells[f"{name}.grad"])]
    text = "`vjp` returns the gradients as values."
    if frame.row == "2":
        text = "`vjp` returns the same gradients again, and the program adds them."
    if zero:
        text += f" For {listed(zero)} they are zeros; `jaxgrad.grad` would return None."
    return text


def _where(program: SteppedProgram, frame: Frame) -> str:
    if ":" in frame.key:
        return f"in `{frame.cells[f'{frame.row}.node']}`, the node of `{frame.row}`"
    return f"at `{_line(program, frame.row).text}`"


def _flown(cells: Cells, before: Cells) -> list[str]:
    """Return the variables whose gradient was computed in this step."""
    ends = (".arrived", ".gradient")
    new = [name for name in cells if name.endswith(ends) and name not in before]
    return [{"hook": "h"}.get(name.partition(".")[0], name.partition(".")[0]) for name in new]


def _gradients(noun: str, names: list[str]) -> str:
    return f"{noun}{'s' if len(names) > 1 else ''} of {listed(names)}"


def _line(program: SteppedProgram, key: str) -> Line:
    return next(line for line in program.lines if line.key == key)


def is_zero(value: Any) -> bool:
    """Whether every number of a nested list is 0."""
    return all(map(is_zero, value)) if isinstance(value, list) else value == 0


def listed(names: Iterable[str]) -> str:
    """Join names, each in backticks: `x`, `y` and `z`."""
    *first, last = [f"`{name}`" for name in names]
    return f"{', '.join(first)} and {last}" if first else last


def _it(names: list[str]) -> str:
    return "them" if len(names) > 1 else "it"
