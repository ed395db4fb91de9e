"""Say what a person sees of a card who runs both models, and how much `prove` says about it."""

import numpy as np

from parity_tests.site.cheat_sheet.page import number
from parity_tests.site.cheat_sheet.row import jax_result, torch_result
from parity_tests.site.traps.card import Card
from parity_tests.site.traps.proof import Outcome


# What a person sees who compares the two models by hand, by the surface that fails.
SYMPTOMS = {
    "structure": "The outputs agree; the frameworks do not train the same leaves.",
    "forward": "Nothing raises, and the outputs differ.",
    "backward": "The outputs agree; the gradients differ.",
    "gradients": "The outputs agree; the gradients differ.",
    "updates": "The outputs and the gradients agree; the updates differ.",
    "buffer": "The outputs and the gradients agree; the new state differs.",
    "average": "The outputs, the gradients and the updates agree; the average differs.",
    "schedules": "The outputs, the gradients and the first updates agree; a later rate differs.",
    "precision": "The models agree in float64; they round different values below float32.",
}


def symptom(run: Outcome) -> str:
    """Return what a person sees who runs both models."""
    first = run.wrong.first
    assert first is not None, run.wrong
    if first.surface == "structure" and run.wrong.surfaces["forward"].verdict == "fail":
        return SYMPTOMS["forward"]
    words = [word for word in ("buffer", "average", "schedules") if word in first.text]
    return SYMPTOMS[words[0] if first.surface == "updates" and words else first.surface]


def causes(run: Outcome) -> str:
    """Return what `prove` prints about the cause: "likely cause", "observation" or nothing."""
    first = run.wrong.first
    assert first is not None, run.wrong
    return first.label if first.cause else ""


def figures(card: Card, run: Outcome) -> str:
    """Return the gradients that differ, of the sum of the output at the inputs of the card."""
    if card.row is not None:
        torch, wrong = (
            number(x) for x in (torch_result(card.row), jax_result(card.row, card.row.wrong))
        )
        return f" The gradient is {wrong} instead of {torch}." if torch else ""
    assert run.wrong.first is not None
    if run.wrong.first.surface == "precision":
        return ""
    return "".join(
        f" The gradient of `{name}` is {number(wrong)} instead of {number(torch)}."
        for name, (torch, wrong) in run.gradients.items()
        if number(wrong) and (torch is None or not np.allclose(torch, wrong, equal_nan=True))
    )
