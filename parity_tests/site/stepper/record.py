"""Record both programs under every setting, as steps that they take together."""

import functools
import json
from collections.abc import Iterator, Mapping
from typing import Any

from parity_tests.site.stepper import jax_side, torch_side
from parity_tests.site.stepper.exceptions import instead, why
from parity_tests.site.stepper.frame import Frame
from parity_tests.site.stepper.program import (
    STOPS,
    SWITCHES,
    SteppedProgram,
    jax_program,
    settings,
    torch_program,
)
from parity_tests.site.stepper.sentences import jax_sentence, listed, torch_sentence


FORWARD = ("start", "a", "h", "stop", "hook", "y", "in_place", "s", "loss")
BACKWARD = ("", ":loss", ":s", ":y", ":W2", ":hook", ":h", ":a", ":W1", ":return")
ORDER = (*FORWARD, *(f"{n}{key}" for n in "12" for key in BACKWARD), "del")


def record() -> dict[str, Any]:
    """Return the data of the page: tables, and for each setting the places in them.

    A step is `[key, torch, JAX]`. Each side has the row that it is about, the cells that changed,
    the cells that went away, a sentence, and in torch's last step the exception; a side without a
    part in the step has the sentence alone.
    """
    lines, sides = _Table(), _Table()
    scenarios = {}
    for on in settings():
        programs = torch_program(on), jax_program(on)
        steps = [
            [ORDER.index(key), sides.place(torch), sides.place(jax)]
            for key, torch, jax in scenario(*programs)
        ]
        shown = [[lines.place(list(line)) for line in program.lines] for program in programs]
        scenarios["&".join(on)] = {"programs": shown, "steps": steps}
    tables = {"switches": SWITCHES, "stops": STOPS, "lines": lines.entries, "sides": sides.entries}
    return {**tables, "scenarios": scenarios}


class _Table:
    """Entries that are stored once."""

    def __init__(self) -> None:
        self.entries: list[Any] = []
        self._places: dict[str, int] = {}

    def place(self, entry: Any) -> int:
        """Return the place of an entry, and add it if it is new."""
        place = self._places.setdefault(json.dumps(entry), len(self.entries))
        if place == len(self.entries):
            self.entries.append(entry)
        return place


def scenario(
    torch: SteppedProgram, jax: SteppedProgram
) -> Iterator[tuple[str, dict[str, Any], dict[str, Any]]]:
    """Yield the steps of two programs: the key, torch's side and JAX's."""
    frames = {frame.key: frame for frame in torch_side.run(torch)}, dict(_jax_frames(jax))
    for side in frames:
        assert list(side) == [key for key in ORDER if key in side], list(side)
    final = frames[1]["del"].cells
    before: list[Mapping[str, Any]] = [{}, {}]
    stopped = False
    for key in ORDER:
        left, right = (side.get(key) for side in frames)
        if left is None and right is None:
            continue
        if left is None:
            text = "" if stopped else _idle_torch(before[0], key)
            torch_part = {"say": text}
        else:
            torch_part = _part(left, before[0], torch_sentence(torch, left, before[0]))
            if left.error:
                stopped = True
                reasons = {"why": why(left), "instead": instead(left, jax, final)}
                torch_part["error"] = {"message": left.error, **reasons}
            before[0] = left.cells
        if right is None:
            jax_part = {"say": _idle_jax(key)}
        else:
            jax_part = _part(right, before[1], jax_sentence(jax, right, before[1]))
            before[1] = right.cells
        yield key, torch_part, jax_part


@functools.cache
def _jax_frames(program: SteppedProgram) -> tuple[tuple[str, Frame], ...]:
    return tuple((frame.key, frame) for frame in jax_side.run(program))


def _part(frame: Frame, before: Mapping[str, Any], sentence: str) -> dict[str, Any]:
    new = {
        name: value
        for name, value in frame.cells.items()
        if name not in before or before[name] != value
    }
    gone = [name for name in before if name not in frame.cells]
    return {"row": frame.row, "set": new, "gone": gone, "say": sentence}


def _idle_torch(cells: Mapping[str, Any], key: str) -> str:
    """Say what torch still keeps while JAX has a step of its own."""
    if key == "stop":
        return "In torch, the `with` statement has done this already."
    kept = [
        name.partition(".")[0]
        for name, entries in cells.items()
        if name.endswith(".kept") and any(entry["state"] == "kept" for entry in entries)
    ]
    waiting = [row for row in kept if f"{row}.ran" not in cells]
    retained = [row for row in kept if f"{row}.ran" in cells]
    text = []
    for row in waiting:
        saved = listed(entry["name"] for entry in cells[f"{row}.kept"])
        text.append(
            f"The node of `{row}` never ran. The variable `{row}` still holds it, and so its saved "
            f"{saved} is still in memory."
        )
    if retained:
        text.append(f"`retain_graph=True` left the saved tensors of {listed(retained)} in memory.")
    return (
        " ".join(text) or "torch keeps nothing any more: each node freed its tensors when it ran."
    )


def _idle_jax(key: str) -> str:
    name = key.partition(":")[2]
    return (
        f"In JAX there is nothing to fill: `vjp` will return the gradient of `{name}`."
        if name
        else ""
    )
