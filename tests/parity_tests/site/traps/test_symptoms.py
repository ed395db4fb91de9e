"""A card says which gradients differ, and whether `prove` has a cause."""

import dataclasses

import pytest

from parity_tests.site.traps import page, symptoms
from parity_tests.site.traps.proof import files, gradients, outcome


BY_NAME = {card.name: card for card in page.CARDS}


@pytest.fixture(scope="module")
def run():
    """Return the outcome of the card whose hooks are in the wrong order."""
    return outcome(BY_NAME["two hooks in the wrong order"])


def test_the_gradients_of_both_models_are_shown(run):
    """A card that is not made from a row shows the gradients of the wrong port and of torch."""
    text = symptoms.figures(BY_NAME["two hooks in the wrong order"], run)

    assert text == " The gradient of `x` is [20, 20, 20] instead of [2, 2, 2]."


def test_gradients_that_agree_are_not_shown():
    """The negative control: the right port in place of the wrong one has torch's gradients."""
    card = BY_NAME["two hooks in the wrong order"]
    with files(dataclasses.replace(card, wrong=card.right)) as of:
        torch, jax = gradients(of)["x"]

    assert torch is not None and (torch == jax).all()


def test_what_prove_says_about_a_cause(run):
    """A confirmed cause is a likely cause; a report without one says nothing."""
    first = run.wrong.first
    silent = dataclasses.replace(run.wrong, first=dataclasses.replace(first, cause=""))
    observed = dataclasses.replace(run.wrong, first=dataclasses.replace(first, tested=False))

    said = [
        symptoms.causes(dataclasses.replace(run, wrong=report))
        for report in (run.wrong, observed, silent)
    ]
    assert said == ["likely cause", "observation", ""]
