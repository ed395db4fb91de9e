"""Say in a log which stage of writing and proving a port has begun, in one line a stage."""

from __future__ import annotations

import sys
import time
from collections.abc import Callable


PROVED = {"train": "train mode", "eval": "eval mode", "step": "the training step"}
WHOLE = {
    "write": "writing the port",
    "save": "writing the files",
    "step": "comparing the training step with the proved one",
}
# The stage that a step of a proof begins; the steps between belong to the stage before them.
BEGINS = {"torch": "forward", "jax backward": "gradients", "other inputs": "other inputs"}
BEGINS_OF_STEP = {"torch": "gradients", "updates": "updates"}


def in_log(title: str, now: Callable[[], float] = time.monotonic) -> Callable[[str], None]:
    """Return a function that gets the name of each step, and prints a line if a stage begins.

    Args:
        title: The first word of each line.
        now: The clock to read.
    """
    start, begun = now(), list[str]()

    def show(step: str) -> None:
        stage = stage_of(step)
        if stage and stage not in begun[-3:]:  # a proof may return to an earlier step
            begun.append(stage)
            print(f"{title}, {now() - start:.0f} s: {stage}", file=sys.stderr, flush=True)

    return show


def stage_of(step: str) -> str:
    """Return the stage that begins with a step, or "" for a step inside of a stage.

    >>> stage_of("train: jax backward")
    'proving train mode: gradients'
    """
    if step in WHOLE:
        return WHOLE[step]
    label, _, inner = step.partition(": ")
    begins = BEGINS_OF_STEP if label == "step" else BEGINS
    if label not in PROVED or inner not in begins:
        return ""
    return f"proving {PROVED[label]}: {begins[inner]}"
