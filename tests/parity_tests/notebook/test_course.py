"""The notes for teachers answer each question of the course, with the stepper's own results."""

import collections
import contextlib
import io
import itertools
import json
import re
import shlex
import subprocess
import sys
import tomllib
import zipfile
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import pytest

from jaxgrad._core.torch_versions import NEWEST
from jaxgrad.parity import prove
from parity_tests.notebook.course import (
    DISCUSSIONS,
    MISTAKES,
    NEAR,
    NEAR_PRINTS,
    OPEN_SESSION,
    PREDICTIONS,
    answer,
    discussion,
    gradients,
    network,
    open_exercise,
    section,
)
from parity_tests.notebook.sessions import LESSONS, plan
from parity_tests.notebook.worksheet import open_exercises
from parity_tests.runner.settings import ROOT
from parity_tests.site.printed import outputs
from parity_tests.site.stepper.program import jax_program, torch_program


COURSE = (ROOT / "docs" / "course.md").read_text(encoding="utf-8")


def test_every_question_of_the_course_is_answered():
    """Each link to the stepper in a session has an answer, and each session a discussion."""
    sessions = re.split(r"^## Session (\d)", COURSE, flags=re.MULTILINE)[1:]
    for number, text in zip(map(int, sessions[::2]), sessions[1::2], strict=True):
        asked = re.findall(r"stepper\.html#(\w+)&amp;", text)
        assert asked == [one.setting for one in PREDICTIONS[number]]
        assert ("\n| discuss | " in text) == (number in DISCUSSIONS)


def test_the_minutes_of_a_notebook_are_those_at_its_top():
    """What a session runs, its exercises and the rest for home take the time of the notebook."""
    rows = re.findall(
        r"^\| (?:run|exercise) \| .*/notebooks/(\w+)\.ipynb.* \| (\d+) \|$", COURSE, re.MULTILINE
    )
    first = re.findall(r"/notebooks/(\w+)\.ipynb\) \((\d+) minutes\)", COURSE)

    rest = re.findall(r"/notebooks/(\w+)\.ipynb.*; the (?:rest|third) \((\d+) minutes\) is", COURSE)

    planned = collections.Counter()
    for name, minutes in [*rows, *first, *rest]:
        planned[name] += int(minutes)
    assert len(planned) == 4
    for name, minutes in planned.items():
        script = (ROOT / "notebooks" / f"{name}.py").read_text(encoding="utf-8")
        (time,) = re.findall(r"\*\*Time\*\* (\d+) minutes", script)
        assert minutes == int(time), f"docs/course.md plans {minutes} minutes for {name}"


def test_a_session_takes_the_time_that_the_course_states():
    """The minutes of all rows of a session, the discussion among them, add up to its length."""
    (stated,) = re.findall(r"^Three sessions of (\d+) minutes,", COURSE, re.MULTILINE)

    sessions = re.split(r"^## .*$", COURSE, flags=re.MULTILINE)[2:6]  # from Session 1 on
    for text in sessions:
        minutes = re.findall(r" \| (\d+) \|$", text, re.MULTILINE)
        assert "\n| discuss | " in text
        assert sum(map(int, minutes)) == int(stated), f"state {sum(map(int, minutes))} minutes"


def test_reading_takes_the_time_that_is_planned():
    """A reader needs a minute for 60 words with formulas, and one for each program."""
    page = (ROOT / "docs" / "tape_or_transform.md").read_text(encoding="utf-8")
    titles = re.findall(r"^## (.+)$", page, re.MULTILINE)
    texts = re.split(r"^## .+\n", page, flags=re.MULTILINE)
    rows = re.findall(r"^\| read \| \[Tape or transform\].*? \| (\d+) \|$", COURSE, re.MULTILINE)
    ends = re.findall(r"^\| read \| \[Tape or .* up to \"([^\"]+)\"", COURSE, re.MULTILINE)
    first, last = (titles.index(end) + 1 for end in ends)
    (start,) = re.findall(r'from "([^"]+)" up to', COURSE)
    assert titles.index(start) + 1 == first

    for part, minutes in zip((texts[:first], texts[first:last]), map(int, rows), strict=True):
        text = "".join(part)
        programs = text.count("```python\n")
        words = len(re.sub(r"```.*?```", "", text, flags=re.DOTALL).split())
        assert minutes >= words / 60 + programs, (words, programs)


@pytest.mark.parametrize("lesson", [one for one in LESSONS if one.session], ids=lambda one: one[0])
def test_the_class_part_of_a_notebook_is_read_in_the_time_that_is_planned(lesson):
    """A reader needs a minute for 60 words of text or of output; a list to look up is not read."""
    path = ROOT / "notebooks" / f"{lesson.notebook}.ipynb"
    words = 0
    for cell in json.loads(path.read_text(encoding="utf-8"))["cells"]:
        text = "".join(cell["source"])
        if cell["cell_type"] == "markdown" and f"\n## {lesson.home}" in f"\n{text}":
            break
        if cell["cell_type"] == "markdown":
            read = re.sub(r", to look up when.*?(?=\n## )", "", text, flags=re.DOTALL)
            words += len(read.split())
        for output in cell.get("outputs", ()):
            words += len("".join(output.get("text", ())).split())
            words += len("".join(output.get("data", {}).get("text/plain", ())).split())
    planned = sum(row.minutes for row in plan(lesson.session) if row.kind == "run")

    assert planned >= words / 60, words


def test_the_reading_at_home_before_the_second_of_two_sessions():
    """The plan states what the class reads at home, with the minutes of the three sessions."""
    _, _, text = COURSE.partition("\n## With two sessions\n")
    *parts, total = map(int, re.findall(r"(\d+) minutes", text.partition("\n| ")[0]))
    second = {row.kind: row.minutes for row in plan(2) if row.kind in ("read", "run")}
    third = next(row.minutes for row in plan(3) if row.kind == "read")

    assert parts == [second["read"], second["run"], third] and total == sum(parts)


def test_an_answer_is_recorded():
    """An answer is the stepper's reason of an exception, or the gradients of both frameworks."""
    assert answer("second_backward").startswith("torch raises a `RuntimeError` in `PowBackward0`")
    assert "saved for the `ReluBackward0` of `h` and the `MmBackward0` of `y`" in answer("in_place")
    assert "`vjp` keeps its residuals" in answer("second_backward")
    assert answer("detach").startswith("`W1.grad`: torch `None`, JAX `[[0.0, 0.0], [0.0, 0.0]]`.")


def test_the_first_sentence_of_an_answer_is_true():
    """A prediction is answered in a sentence, which has the recorded gradients and nodes."""
    right = {one.setting: one.right for of in PREDICTIONS.values() for one in of}
    plain, hooked, detached = (gradients(name) for name in ("", "hook", "detach"))

    for session, questions in PREDICTIONS.items():
        for one in questions:
            assert f"- **Answer.** {one.right[:20]}" in section(session), one.setting
    assert right["hook"].startswith("Only `W1.grad`: it is half of `{W1}`")
    for of_plain, of_hooked in zip(plain, hooked, strict=True):
        half = 0.5 * np.array(of_plain["W1.grad"])
        assert np.array_equal(half, of_hooked["W1.grad"])
        assert of_plain["W2.grad"] == of_hooked["W2.grad"]
    assert "half of `[[12.0, 0.0], [24.0, 0.0]]`" in section(2)
    assert [str(side["W1.grad"]) for side in detached] == ["None", "[[0.0, 0.0], [0.0, 0.0]]"]
    assert [side["W2.grad"] for side in detached] == [side["W2.grad"] for side in plain]
    assert (
        "the node of `s`" in answer("second_backward") and "node of `s`" in right["second_backward"]
    )
    assert "the node of `y`. `MmBackward0` needs" in answer("in_place")
    assert right["in_place"].endswith("the node of `y` raises.")
    assert "an inference tensor cannot be saved" in answer("inference_mode")


def test_the_slopes_of_the_discussion_are_those_of_jax():
    """`jnp.maximum` has the slope 1/2 at a tie, and 1/4 if it is applied twice."""
    once, twice = (
        jax.grad(f)(0.0)
        for f in (lambda x: jnp.maximum(x, 0), lambda x: jnp.maximum(jnp.maximum(x, 0), 0))
    )

    assert (once, twice) == (0.5, 0.25)
    assert "JAX gives 1/4 for it, where one `maximum` has 1/2" in DISCUSSIONS[2]


@pytest.mark.parametrize("session", PREDICTIONS)
def test_a_session_has_its_questions_and_its_discussion(session):
    """The network of the stepper stands above the questions, each with a wrong answer."""
    text = section(session)
    count = len(PREDICTIONS[session])

    assert text.count("**Predict.**") == text.count("- **Expect** “") == count
    assert bool(text) == bool(count) == (network() in text.partition("**Predict.**")[0])
    assert discussion(session).count("## Discuss\n") == 1


def test_the_questions_have_the_lines_of_the_stepper():
    """Code that a question quotes is a line of torch's program or of JAX's, or a block of it."""
    for one in itertools.chain(*PREDICTIONS.values()):
        programs = torch_program((one.setting,)), jax_program((one.setting,))
        code = "\n".join(line.text for program in programs for line in program.lines)
        for quoted in filter(lambda text: " " in text, one.asks.split("`")[1::2]):
            blocks = [f"with torch.{name}():" for name in ("no_grad", one.setting)]
            assert quoted in code or quoted in blocks, quoted
    lines = [line.text for line in torch_program(()).lines]
    shown = [text for text in network().split("`")[1::2] if " = " in text]
    assert len(shown) == 5 and set(shown) <= set(lines)


def test_a_section_at_which_a_run_ends_is_in_the_notebook():
    """The heading that ends the part for the session begins a section of the notebook."""
    ends = re.findall(r'/notebooks/(\w+)\.ipynb\), up to "([^"]+)"', COURSE)

    assert dict(ends) == {one.notebook: one.home for one in LESSONS if one.home}
    for name, title in ends:
        script = (ROOT / "notebooks" / f"{name}.py").read_text(encoding="utf-8")
        assert len(re.findall(rf"^# ## {re.escape(title)}", script, re.MULTILINE)) == 1


def test_the_lines_for_colab_unpack_the_zip_of_github(tmp_path):
    """They make a folder `jaxgrad` of GitHub's ZIP, whatever the branch, which has a version."""
    unpack, folder, install = re.findall(r"^[!%](.+)$", COURSE, re.MULTILINE)
    with zipfile.ZipFile(tmp_path / "jaxgrad-some-branch.zip", "w") as archive:
        archive.writestr("jaxgrad-some-branch/notebooks/hooks.ipynb", "{}")
    command = unpack.replace("python ", f"{shlex.quote(sys.executable)} ", 1)
    subprocess.run(command, shell=True, cwd=tmp_path, check=True)

    place = tmp_path / folder.removeprefix("cd ")
    assert (place / "hooks.ipynb").is_file() and install == 'pip install -q "..[notebooks]"'
    assert "fallback-version" in (ROOT / "pyproject.toml").read_text(encoding="utf-8")


def test_every_exercise_of_a_session_is_counted():
    """A session that says "the three exercises" has a notebook with three."""
    words = {"two": 2, "three": 3}
    counts = re.findall(r"\[the (\w+) exercises\]\(\.\./notebooks/(\w+)\.ipynb", COURSE)

    assert len(counts) == 2
    for word, name in counts:
        script = (ROOT / "notebooks" / f"{name}.py").read_text(encoding="utf-8")
        assert len(re.findall(r"^exercise\(", script, re.MULTILINE)) == words[word]


def test_the_versions_are_those_that_pip_and_make_install():
    """The course and the README state the newest torch, the pinned one and the oldest one."""
    text = " ".join(COURSE.split())
    pins = (ROOT / "constraints.txt").read_text(encoding="utf-8")
    (pinned,) = re.findall(r"^torch==(\d+\.\d+)", pins, re.MULTILINE)
    project = tomllib.loads((ROOT / "pyproject.toml").read_text(encoding="utf-8"))["project"]
    (torch,) = re.findall(r"torch>=([\d.]+)", " ".join(project["optional-dependencies"]["torch"]))
    (jax,) = re.findall(r"jax>=([\d.]+)", " ".join(project["dependencies"]))
    readme = " ".join((ROOT / "README.md").read_text(encoding="utf-8").split())

    assert f"torch {torch} and JAX {jax} or newer." in text
    assert f"installs, the newest (torch {NEWEST} when this was written)" in text
    assert f"The pages print what torch {NEWEST} prints" in text
    assert f"ran with torch {pinned} and JAX 0.10, which `make` installs from" in text
    assert (
        f"The pages print what torch {NEWEST} does; the notebooks and the picture are of" in readme
    )
    assert f"are of torch {pinned}." in readme


def test_the_pages_and_the_notebooks_print_the_stated_versions():
    """Output on a page names the newest torch, and that of a notebook the pinned one."""
    (pinned,) = re.findall(r"ran with torch (\d+\.\d+)", COURSE)
    folders = [ROOT / "docs", ROOT / "docs" / "traps"]
    pages = [path.read_text("utf-8") for folder in folders for path in folder.glob("*.md")]
    blocks = re.findall(r"```text\n(.*?)```", "".join(pages), re.DOTALL)
    books = [path.read_text(encoding="utf-8") for path in (ROOT / "notebooks").glob("*.ipynb")]

    assert {v for block in blocks for v in re.findall(r"torch (2\.\d+)", block)} == {NEWEST}
    drawn = {v for book in books for v in re.findall(r"torch (2\.\d+)[\d.+a-z]* · autograd", book)}
    assert drawn == {pinned}


@pytest.mark.parametrize("mistake", MISTAKES, ids=lambda one: one.wrong)
def test_prove_says_of_a_mistake_what_the_notes_state(mistake, tmp_path):
    """The outputs agree, the named surfaces fail, and the report names the cause."""
    script = (ROOT / "notebooks" / "prove_your_port.py").read_text(encoding="utf-8")
    _, _, start = script.partition("import dataclasses\n")
    program = start.partition("# ## A port that passes")[0]
    assert program.count(mistake.right) == 1
    file = tmp_path / "port.py"
    file.write_text(program.replace(mistake.right, mistake.wrong), encoding="utf-8")
    scope: dict[str, Any] = {}

    exec(compile(file.read_text(encoding="utf-8"), str(file), "exec"), scope)
    report = scope["prove_port"](scope["port"])

    assert report.surfaces["forward"].verdict == "pass"
    failed = [name for name, surface in report.surfaces.items() if surface.verdict == "fail"]
    assert tuple(failed) == mistake.fails
    assert mistake.says in report.first.cause


def test_the_open_exercise_has_notes():
    """The session with an open exercise has notes, with a row for each mistake."""
    assert [number for number in PREDICTIONS if open_exercises(number)] == [OPEN_SESSION]
    text = discussion(OPEN_SESSION)
    assert open_exercise() in text and all(f"| `{one.wrong}` |" in text for one in MISTAKES)


def test_the_points_of_the_open_exercise_add_up():
    """The notes state the points of a student, with a row for each criterion."""
    (stated,) = re.findall(r"\*\*Marking\*\*, (\d+) points", open_exercise())
    rows = re.findall(r"^\| [^|]+ \| (\d+) \|$", open_exercise(), re.MULTILINE)

    assert sum(map(int, rows)) == int(stated) == 10


def test_session_2_practises_the_transformation():
    """An exercise for class builds the backward pass, and uncommon programs are for home."""
    script = (ROOT / "notebooks" / "none_or_zero.py").read_text(encoding="utf-8")
    (lesson,) = [one for one in LESSONS if one.session == 2]
    in_class, _, home = script.partition(f"# ## {lesson.home}")

    first = re.findall(r'^exercise\("none_or_zero/(\w+)"\)', script, re.MULTILINE)
    assert first[: lesson.exercises] == ["transposed", "decay_that_skips_none"]
    for case in ("through_gradient", "rule_returns_none"):
        assert f'"none_or_zero/{case}"' not in in_class and f'"none_or_zero/{case}"' in home
    assert "jax.random" not in in_class and "jax.random" in home


def test_the_place_for_the_discussion_is_that_of_the_report():
    """The report names the call after the mistake and no cause; the other axis is the mistake."""
    page = f"```python\n{NEAR}```\n\n```text\n{NEAR_PRINTS}```\n"
    (printed,) = outputs(page, "gated.py")
    lines = NEAR.splitlines()
    names: dict[str, Any] = {"__name__": "__main__"}
    with contextlib.redirect_stdout(io.StringIO()):
        exec(NEAR.replace("h.mean(0, keepdims", "h.mean(1, keepdims"), names)

    digits = re.compile(r"\d\.\d+")
    assert digits.sub("#", printed) == digits.sub("#", NEAR_PRINTS), "show another mistake"
    assert "torch.sigmoid" in lines[14] and "h.mean(0" in lines[21]
    assert "likely cause" not in printed and "observation" not in printed
    arguments = (names[name] for name in ("net", "port", "params", "inputs"))
    assert prove(*arguments).verdict == "pass"
    assert "**A place that is only near.**" in discussion(3) and "only near" not in discussion(1)
