"""The one lesson has a plan with slack, a handout without answers, and computed answers."""

import re

import numpy as np
import pytest

from jaxgrad.parity import prove
from parity_tests.notebook.teachers import model_answers
from parity_tests.runner.settings import ROOT
from parity_tests.site import learned_values
from parity_tests.site.one_lesson import (
    ANSWERS,
    EXERCISES,
    HANDOUT,
    PORTS,
    SETTINGS,
    answers,
    exercises,
    falls,
    handout,
    has_gradient,
    trained,
)
from parity_tests.site.traps.card import IMPORTS
from parity_tests.site.traps.proof import outcome, printed


PLAN = (ROOT / "docs" / "one_lesson.md").read_text(encoding="utf-8")
ROWS = re.findall(r"^\| (\w+) \| (.+?) \| (.*?) ?\| (\d+) \|$", PLAN, re.MULTILINE)


def test_the_pages_are_current():
    """The committed handout and answers are what `make pages` writes."""
    assert HANDOUT.read_text(encoding="utf-8") == handout(), "run `make pages`"
    assert ANSWERS.read_text(encoding="utf-8") == answers(), "run `make pages`"


def test_the_plan_fills_the_lesson_and_has_slack():
    """The minutes add up to the stated length, and at least ten of them are spare."""
    (stated,) = re.findall(r"^A lesson of (\d+) minutes", PLAN, re.MULTILINE)

    assert sum(int(minutes) for *_, minutes in ROWS) == int(stated)
    assert [kind for kind, *_ in ROWS[:2]] == ["open", "show"]
    assert next(int(minutes) for kind, *_, minutes in ROWS if kind == "spare") >= 10


def test_every_row_links_to_its_answers():
    """Each row with a question has a link to a heading of a page that has the answer."""
    for kind, text, link, _ in ROWS:
        if kind in {"open", "spare"}:
            continue
        page, anchor = re.findall(r"\]\(([\w.]*)#([\w-]+)\)", link)[0]
        target = (ROOT / "docs" / page).read_text(encoding="utf-8") if page else PLAN
        titles = re.findall(r"^#+ (.+)$", target, re.MULTILINE)
        slugs = [re.sub(r"[^\w\- ]", "", title.lower()).replace(" ", "-") for title in titles]
        assert anchor in slugs, text


def test_the_questions_are_those_of_the_plan():
    """The handout has the settings of the stepper in the order of the plan, and its exercises."""
    assert tuple(re.findall(r"stepper\.html#(\w+)&amp;", PLAN)) == SETTINGS
    assert "Exercises 1 and 2 of the handout, which are exercises 2 and 3 of the notebook" in PLAN
    of_notebook = [name for name in model_answers() if name.startswith("grad_modes/")]
    assert tuple(of_notebook[1:3]) == EXERCISES


def test_the_plan_names_the_card_of_each_port():
    """The plan says which ports are the wrong ones of their cards, and links to the cards."""
    named = re.findall(r"\b([A-D])\s(?:is )?(the wrong|a right) port\sof\s\[(.+?)\]\(", PLAN)

    assert {letter: name for letter, _, name in named} == {
        letter: port.card.name for letter, port in PORTS.items()
    }
    assert {letter for letter, kind, _ in named if kind == "a right"} == {"B"}


def test_the_handout_has_no_answers():
    """The handout has the wrong ports alone, and no reason, model answer or report."""
    text = HANDOUT.read_text(encoding="utf-8")

    for letter, port in PORTS.items():
        assert text.count(f"### Port {letter}\n") == text.count(f"\n{port.code}\n") == 1
        assert port.because not in text and port.card.right not in text
        assert port.code == port.card.wrong or has_gradient(letter)
    assert "first divergence" not in text and "**Answer" not in text
    assert all(f"{task}\n" in text for task, _ in exercises())


def test_the_sentences_on_the_ports_are_true():
    """One port has torch's gradient, three losses fall, and that of port C below torch's."""
    text = " ".join(ANSWERS.read_text(encoding="utf-8").split())

    assert [letter for letter in PORTS if has_gradient(letter)] == ["B"]
    assert [letter for letter in PORTS if falls(trained(letter)[1])] == ["A", "B", "C"]
    assert "a falling loss for three of them, and torch's gradient for one" in text
    (once,), (twice,) = (run.grads.values() for run in trained("A"))
    np.testing.assert_allclose(twice, 2 * once)
    of_torch, of_port = trained("C")
    assert of_port.last < of_torch.last and "its loss is lower than torch's" in text
    of_states = [run.grads["w"].ravel() for run in trained("C")]
    np.testing.assert_allclose(of_states[0][0], of_states[1][0])
    assert of_states[1][1] / of_states[0][1] > 1.5 and "another direction" in text
    assert trained("A")[1].last < trained("A")[0].last
    assert not np.any(trained("D")[1].grads["x"])


def test_the_change_that_prove_suggests_for_port_c_is_the_right_port():
    """The class sees one report: its edit is the line of the card, and names the last line."""
    card = PORTS["C"].card
    first = printed(outcome(card).wrong.first)
    old, new = re.findall(r"^    [-+] (.*)$", first, re.MULTILINE)
    answers = ANSWERS.read_text(encoding="utf-8")

    assert card.wrong.replace(old, new) == card.right
    assert f"suggested change in port.py:{len(card.wrong.splitlines())}\n" in first
    assert "port.py:4 (sub)" in first and "reaches this subtraction agrees" in answers
    assert "`lax.stop_gradient(target)`" in answers and "`target.detach()`" in answers
    assert "lax.stop_gradient(target)" in new and "target.detach()" in card.torch


def test_port_c_learns_wrong_values_at_a_lower_loss():
    """torch learns the exact values of the two states; the port converges to others."""
    of_torch, of_port = (run.weights["w"].ravel() for run in trained("C"))
    value_of_b = 1.0
    value_of_a = float(np.mean([0 + 0.9 * value_of_b, -3.0]))

    np.testing.assert_allclose(of_torch, [value_of_a, value_of_b], atol=0.005)
    assert np.all(np.abs(of_port - of_torch) > 0.5)
    for run, later in zip(trained("C"), trained("C", 2000), strict=True):
        np.testing.assert_allclose(run.weights["w"], later.weights["w"], atol=0.005)
        np.testing.assert_allclose(run.last, later.last, rtol=0.001)


@pytest.mark.parametrize("letter", PORTS)
def test_prove_agrees_with_the_answers(letter):
    """All outputs agree, and `prove` passes the one port that has torch's gradient."""
    port = PORTS[letter]
    names = {}
    exec(IMPORTS + port.card.torch, names)
    exec(port.code, names)
    module = names["Model"]()
    params = {name: p.detach().numpy() for name, p in module.state_dict().items()}
    report = prove(module, names["port"], params, names["inputs"])

    assert report.surfaces["forward"].verdict == "pass"
    assert report.verdict == ("pass" if has_gradient(letter) else "fail")


def test_the_figure_of_port_c_fills_a_window():
    """A teacher projects the file, so it has no fixed width of its own."""
    text = learned_values.PATH.read_text(encoding="utf-8")

    assert 'class="jaxgrad-figure" width="100%" height="100%" viewBox=' in text
