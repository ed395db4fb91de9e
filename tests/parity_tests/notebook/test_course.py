"""The notes for teachers answer each question of the course, with the stepper's own results."""

import collections
import re

import jax
import jax.numpy as jnp

from parity_tests.notebook.course import DISCUSSIONS, PREDICTIONS, answer, section
from parity_tests.runner.settings import ROOT


COURSE = (ROOT / "docs" / "course.md").read_text(encoding="utf-8")


def test_every_question_of_the_course_is_answered():
    """Each link to the stepper in a session has an answer, and each session a discussion."""
    sessions = re.split(r"^## Session (\d)", COURSE, flags=re.MULTILINE)[1:]
    for number, text in zip(map(int, sessions[::2]), sessions[1::2], strict=True):
        asked = re.findall(r"stepper\.html#(\w+)&amp;", text)
        assert asked == [one.setting for one in PREDICTIONS[number]]
        assert ("\n| discuss | " in text) == (number in DISCUSSIONS)


def test_the_minutes_of_a_notebook_are_those_at_its_top():
    """The rows that run a notebook and do its exercises take the time that the notebook states."""
    rows = re.findall(
        r"^\| (?:run|exercise) \| .*/notebooks/(\w+)\.ipynb.* \| (\d+) \|$", COURSE, re.MULTILINE
    )
    first = re.findall(r"/notebooks/(\w+)\.ipynb\) \((\d+) minutes\)", COURSE)

    planned = collections.Counter()
    for name, minutes in [*rows, *first]:
        planned[name] += int(minutes)
    assert len(planned) == 4
    for name, minutes in planned.items():
        script = (ROOT / "notebooks" / f"{name}.py").read_text(encoding="utf-8")
        (time,) = re.findall(r"\*\*Time\*\* (\d+) minutes", script)
        assert minutes == int(time), f"docs/course.md plans {minutes} minutes for {name}"


def test_a_session_takes_the_time_that_the_course_states():
    """The minutes of all rows of a session, the discussion among them, add up to its length."""
    (stated,) = re.findall(r"^Three sessions of (\d+) minutes,", COURSE, re.MULTILINE)

    sessions = re.split(r"^## .*$", COURSE, flags=re.MULTILINE)[1:4]
    for text in sessions:
        minutes = re.findall(r" \| (\d+) \|$", text, re.MULTILINE)
        assert "\n| discuss | " in text
        assert sum(map(int, minutes)) == int(stated), f"state {sum(map(int, minutes))} minutes"


def test_an_answer_is_recorded():
    """An answer is the stepper's reason of an exception, or the gradients of both frameworks."""
    assert answer("second_backward").startswith("torch raises a `RuntimeError` in `PowBackward0`")
    assert "saved for the `ReluBackward0` of `h` and the `MmBackward0` of `y`" in answer("in_place")
    assert "`vjp` keeps its residuals" in answer("second_backward")
    assert answer("detach").startswith("`W1.grad`: torch `None`, JAX `[[0.0, 0.0], [0.0, 0.0]]`.")
    halved, whole = (re.findall(r"torch `(.*?)`", answer(name)) for name in ("hook", ""))
    assert halved[0] != whole[0] and halved[1] == whole[1]


def test_the_slopes_of_the_discussion_are_those_of_jax():
    """`jnp.maximum` has the slope 1/2 at a tie, and 1/4 if it is applied twice."""
    once, twice = (
        jax.grad(f)(0.0)
        for f in (lambda x: jnp.maximum(x, 0), lambda x: jnp.maximum(jnp.maximum(x, 0), 0))
    )

    assert (once, twice) == (0.5, 0.25)
    assert "JAX gives 1/4 for it, where one `maximum` has 1/2" in DISCUSSIONS[2]


def test_the_section_has_three_sessions():
    """The section has a heading for each session, with its questions and discussion."""
    text = section()

    assert re.findall(r"^### Session (\d)$", text, re.MULTILINE) == ["1", "2", "3"]
    assert text.count("**Discuss.**") == 3 and text.count("- **Expect** “") == 5
