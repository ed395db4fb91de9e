"""The assessment and its key are what their programs print in a plain session."""

import dataclasses
import re
from typing import Any

import pytest

from parity_tests.notebook.assessment import (
    COURSE,
    HEAD_B,
    KEY,
    KEY_B,
    KEY_HEAD_B,
    PATH,
    PATH_B,
    check_words,
    in_sessions,
    is_mistake,
    key,
    name,
    numbered,
    page,
    programs,
    shown,
    worded,
)
from parity_tests.notebook.assessment_questions import (
    BLANK,
    EXAMS,
    EXAMS_B,
    PARTS,
    VARIANT,
    Question,
)
from parity_tests.notebook.plain_session import printed


QUESTIONS = [question for _, _, question in numbered()]
WITH_LINE = [question for question in QUESTIONS if question.line]
OF_PROVE = [question for question in WITH_LINE if "prove(" in shown(question)]
WITHOUT_PROVE = [{"predict"}, {"find"}, {"write"}]


@pytest.fixture(scope="module")
def outputs():
    """Return what every program prints in a plain session, in float32."""
    return printed(programs())


def test_the_pages_are_current(outputs):
    """The committed assessment and key are what `make pages` writes."""
    assert page(outputs) == PATH.read_text(encoding="utf-8"), "run `make pages`"
    assert key(outputs) == KEY.read_text(encoding="utf-8"), "run `make pages`"


@pytest.mark.parametrize("question", WITH_LINE, ids=name)
def test_the_right_line_gives_the_numbers_of_torch(outputs, question):
    """With the corrected line, both frameworks print the same numbers, or `prove` passes."""
    if question in OF_PROVE:
        assert "pass" in outputs[name(question)] and "fail" not in outputs[name(question)]
        return
    torch, jax = outputs[name(question)].splitlines()

    assert torch.removeprefix("torch: ") == jax.removeprefix("JAX: ") != jax


@pytest.mark.parametrize("question", [q for q in QUESTIONS if is_mistake(q)], ids=name)
def test_a_mistake_changes_the_numbers_of_jax(outputs, question):
    """The wrong program prints the same numbers for torch and other ones for JAX, or fails."""
    if question in OF_PROVE:
        assert "fail" in outputs[f"{name(question)}, wrong"]
        return
    torch, jax = outputs[name(question)].splitlines()
    torch_again, wrong = outputs[f"{name(question)}, wrong"].splitlines()

    assert torch_again == torch and wrong != jax


@pytest.mark.parametrize("question", QUESTIONS, ids=name)
def test_a_wrong_answer_is_not_the_answer(outputs, question):
    """An answer to expect is neither the output nor the right line, and has an explanation."""
    question = worded(question)
    for says in (question.expect, *(says for says, _ in question.others)):
        assert says.partition(" in the ")[0] not in outputs[name(question)].replace("\n", " ")
    assert not question.line or question.line not in question.expect
    assert question.thinks.endswith((".", "?")) and question.because.endswith((".", "`."))


def test_the_answers_are_not_in_the_assessment():
    """A student sees neither a right line nor the output of a program to predict."""
    text = PATH.read_text(encoding="utf-8")

    assert not [question.line for question in WITH_LINE if question.line in text]
    parts = re.split(r"^### Part (?=\w)", text, flags=re.MULTILINE)[1:]
    assert [part[0] for part in parts if "```text" not in part] == ["A", "F"]


def test_the_points_and_the_kinds():
    """Sixteen questions make 70 points after the sessions, and seven make 31 after the rest."""
    assert [exam.points for exam in EXAMS] == [70, 31]
    assert [sum(len(part.questions) for part in exam.parts) for exam in EXAMS] == [16, 7]
    assert "The first test has 70 points and the second test has 31 points" in KEY.read_text(
        "utf-8"
    )
    assert [
        {"predict" if not q.line else "find" if is_mistake(q) else "write" for q in part.questions}
        for part in PARTS
    ] == [*WITHOUT_PROVE, {"predict", "find"}, {"write"}, *WITHOUT_PROVE]


def test_the_questions_of_the_three_sessions():
    """The sessions of the course link to the page of each question of the first test, and only."""
    first, second = ([q for part in exam.parts for q in part.questions] for exam in EXAMS)

    assert [q for q in first if not in_sessions(q)] == []
    assert [q for q in second if in_sessions(q)] == []
    assert "question 14 of the first test" in COURSE.read_text(encoding="utf-8")
    assert name(first[13]) == "coupled_decay"


def test_the_first_test_asks_for_what_the_course_promises():
    """The tape and what takes its place, and verdicts and a report of `prove`."""
    (first, *_) = EXAMS
    programs = [shown(q) for part in first.parts for q in part.questions]

    for code in (
        ".detach()",
        "no_grad()",
        "y.backward()\n    try:",
        "y += 1",
        "vjp(1.0)[0].item(), vjp(1.0)",
        "jax.jit(jax.grad(jax.grad(f)))",
        "jax.linear_transpose(linear, x)",
        "prove(model, port",
        "report.first",
    ):
        assert any(code in program for program in programs), code


def test_the_report_names_the_line_to_change(outputs):
    """The line that a printed report names is the wrong one, counted as the task says."""
    (question,) = [q for q in QUESTIONS if "report.first" in shown(q)]
    text = PATH.read_text(encoding="utf-8")
    (first,) = re.findall(r"\(The first line below is line (\d+) of the file\.\)", text)
    _, _, block = text.partition(f"line {first} of the file.)\n\n```python\n")
    report = outputs[f"{name(question)}, wrong"]
    (line,) = map(int, re.findall(r"stop_gradient at \w+\.py:(\d+)\b", report))

    assert block.splitlines()[line - int(first)].strip() == question.wrong
    assert "originates here" in report and "jax: l1.weight" in report
    assert "suggested change" not in report and "all gradients agree" in report


def test_a_target_before_the_loss_needs_no_stop():
    """The key gives full marks for a port that computes `target` where torch's program does."""
    question = next(q for q in QUESTIONS if name(q) == "port_of_a_step")
    target = "    target = 1 + 0.5 * lax.stop_gradient(value(params, after))\n"
    loss = "def mean_square(params):\n"
    literal = question.line.replace(target, "").replace(
        loss, f"target = 1 + 0.5 * value(params, after)\n\n\n{loss}"
    )
    outputs = printed({"right": programs()[name(question)].replace(question.line, literal)})

    assert "stop_gradient" not in literal
    torch, jax = outputs["right"].splitlines()
    assert torch.removeprefix("torch: ") == jax.removeprefix("JAX: ")


def test_the_key_excludes_a_change_of_torch():
    """With the mistake in torch's line too, `updates` passes, but the port is unchanged."""
    question = next(q for q in QUESTIONS if name(q) == "coupled_decay")
    both = shown(question).replace("torch.optim.AdamW(", "torch.optim.Adam(")

    assert "updates: pass" in printed({"both": both})["both"]
    assert "any line of the port that makes `updates` pass" in KEY.read_text("utf-8")


def test_a_second_input_refutes_a_larger_learning_rate():
    """A larger rate gives torch's number in question 20, but not for another weight."""
    question = next(q for q in QUESTIONS if q.expect == "a larger learning rate")
    larger = shown(question).replace(question.wrong, "tx = optax.adamw(0.10099)")
    second = larger.replace("torch.tensor(1.0))", "torch.tensor(2.0))", 1)
    second = second.replace("param = jnp.array(1.0)", "param = jnp.array(2.0)")
    right = second.replace("optax.adamw(0.10099)", "optax.adamw(0.1, weight_decay=0.01)")

    outputs = printed({"first": larger, "second": second, "right": right})
    assert outputs["first"] == "torch: 0.899\nJAX: 0.899\n"
    assert outputs["second"] == "torch: 1.898\nJAX: 1.89899\n"
    assert outputs["right"] == "torch: 1.898\nJAX: 1.898\n"


@pytest.mark.parametrize(
    ("right", "wrong", "raises"),
    [
        ("lax.stop_gradient(value(params, after))", "value(params, after)", False),
        ('params["weight"].T', 'params["weight"]', True),
        ("jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)", "params - 0.1 * grads", True),
        (
            "grads = jax.grad(mean_square)(params)",
            "grads = jax.grad(mean_square)(lax.stop_gradient(params))",
            None,  # it changes nothing
        ),
    ],
)
def test_a_wrong_answer_to_the_port_is_wrong(outputs, right, wrong, raises):
    """It raises, prints other numbers, or stops nothing: then the target has to be stopped too."""
    (question,) = [q for q in WITH_LINE if name(q) == "port_of_a_step"]
    program = programs()["port_of_a_step"]
    assert len(question.line.splitlines()) in range(8, 13) and program.count(right) == 1
    changed = program.replace(right, wrong)
    if raises:
        with pytest.raises(Exception, match=r"contracting dimensions|unsupported operand"):
            exec(compile(changed, "port", "exec"), {})
    elif raises is None:
        assert printed({"port": changed})["port"] == outputs["port_of_a_step"]
    else:
        torch, jax = printed({"port": changed})["port"].splitlines()
        assert torch == outputs["port_of_a_step"].splitlines()[0]
        assert torch.removeprefix("torch: ") != jax.removeprefix("JAX: ")


def test_the_line_to_find_occurs_once():
    """A line that is not in the program, or is there twice, is an error."""
    question = WITH_LINE[0]
    other = Question(question.program, "", "", "", "", "no such line")

    assert shown(question).count(question.wrong) == 1
    (batches,) = [q for q in WITH_LINE if name(q) == "two_batches"]
    assert f"total = {BLANK}  # your line\n" in shown(batches)
    with pytest.raises(AssertionError, match="'no such line' is not one line"):
        shown(other)


QUESTIONS_B = [question for _, _, question in numbered(EXAMS_B)]
OTHER_RELU = 'jnp.maximum(x @ params["weight"].T + params["bias"], 0)'
SAME = ("coupled_decay", "td_critic")  # its output is that of the verdict alone


@pytest.fixture(scope="module")
def outputs_b():
    """Return what every program of variant B prints."""
    return printed(programs(EXAMS_B))


def test_the_pages_of_variant_b_are_current(outputs_b):
    """The committed test and key are what `make pages` writes."""
    assert page(outputs_b, EXAMS_B, HEAD_B) == PATH_B.read_text("utf-8"), "run `make pages`"
    assert key(outputs_b, EXAMS_B, KEY_HEAD_B) == KEY_B.read_text("utf-8"), "run `make pages`"


@pytest.mark.parametrize("question", QUESTIONS_B, ids=name)
def test_a_question_of_variant_b_has_other_answers(outputs, outputs_b, question):
    """Each change is made, other answers are right, and the right line gives torch's numbers."""
    (first,) = [q for q in QUESTIONS if q.program is question.program]
    old, new = (programs(exams)[name(question)] for exams in (EXAMS, EXAMS_B))
    for before, after in VARIANT[question.program].changes:
        everything = old + first.wrong
        assert before in everything and after in new + question.wrong
    right = outputs_b[name(question)]

    assert shown(first) != shown(question)
    assert not question.line or question.line != first.line
    assert (right == outputs[name(question)]) == (name(question) in SAME)
    if question.line and question not in OF_PROVE and "prove(" not in new:
        of_torch, of_jax = right.splitlines()
        assert of_torch.removeprefix("torch: ") == of_jax.removeprefix("JAX: ") != of_jax
    if is_mistake(question):
        assert outputs_b[f"{name(question)}, wrong"] != right


@pytest.mark.parametrize("question", QUESTIONS_B, ids=name)
def test_the_key_of_variant_b_is_complete(outputs_b, question):
    """Each answer has its reason and a wrong answer to expect, and no text needs another key."""
    words = worded(question)
    text = KEY_B.read_text("utf-8")

    for part in (words.because, words.expect, words.thinks, *sum(words.others, ())):
        assert part in text and "{" not in part.replace("{b", "")
    assert "other key, with" not in text and "assessment_key.md" not in text
    assert text.count("**Marking**") == len(EXAMS_B[0].parts)
    for says in (words.expect, *(says for says, _ in words.others)):
        assert says.partition(" in the ")[0] not in outputs_b[name(question)].replace("\n", " ")


COMPUTED = {
    "through_a_detach": ("torch.tensor(3.0", "torch.tensor(7.0", "63 at x = 7"),
    "constant_inside_no_grad": ("torch.tensor(5.0", "torch.tensor(2.5", "5 · 2x is 10"),
    "decay_without_a_gradient": ("weight_decay=0.2", "weight_decay=0.3", "0.1 · 0.3 = 0.97"),
    "without_a_tape": ("1.0)", "3.0)", "4x³ = 108 and the second derivative 12x² = 108"),
    "column_and_rows": ("[4.0, 5.0]", "[2.0, 6.0]", "x1 + 2·x0 = 10"),
    "stopped_outside": ("(4.0", "(3.0", "3 · x² is 6x, which is 18 at x = 3"),
    "bootstrapped_target": ("2 + 0.5", "3 + 0.25", "2 · (2 − 4.5) · 1 = −5"),
}


def test_own_numbers_give_own_reasons():
    """A teacher who changes a number in `VARIANT` gets its reasons, and the programs agree."""
    programs_, questions = {}, {}
    for question in QUESTIONS_B:
        if name(question) in COMPUTED:
            old, new, _ = COMPUTED[name(question)]
            changes = tuple((a, b.replace(old, new)) for a, b in question.changes)
            line = question.line.replace(old, new)
            own = dataclasses.replace(question, changes=changes, line=line)
            questions[name(question)] = own
            programs_ |= programs([exam_of(own)])
    assert set(questions) == set(COMPUTED)
    for each, output in printed(programs_).items():
        if each in questions:
            check_words(questions[each], output)
            assert COMPUTED[each][2] in worded(questions[each]).because


def exam_of(question):
    """Return a test with one question."""
    part = dataclasses.replace(PARTS[0], questions=(question,))
    return dataclasses.replace(EXAMS[0], parts=(part,))


def test_a_reason_that_does_not_fit_the_program_is_refused(outputs_b):
    """Another exponent needs another reason, and a number that is not there has a message."""
    question = next(q for q in QUESTIONS_B if name(q) == "through_a_detach")
    message = "through_a_detach: the reason says 15, but the program prints '36.0'; write another"

    check_words(question, outputs_b[name(question)])
    with pytest.raises(AssertionError, match=re.escape(message)):
        check_words(question, "36.0\n")
    without = dataclasses.replace(question, changes=(("torch.tensor(2.0", "torch.tensor([1.0]"),))
    with pytest.raises(AssertionError, match="is not in the program; write another reason"):
        worded(without)


@pytest.mark.parametrize("exams", [EXAMS, EXAMS_B])
def test_maximum_costs_no_point_in_question_16(exams):
    """No value before relu is exactly 0, so `jnp.maximum(h, 0)` has the same gradients."""
    program = programs(exams)["port_of_a_step"]
    other = program.replace('jax.nn.relu(x @ params["weight"].T + params["bias"])', OTHER_RELU)

    assert other != program
    outputs = printed({"a": program, "b": other})
    assert outputs["a"] == outputs["b"]


def test_the_sum_is_twice_the_numbers_in_question_12_of_variant_b(outputs_b):
    """`jnp.add`, which is right in the other variant, is refuted by the printed numbers."""
    program = programs(EXAMS_B)["two_batches"].replace("lambda a, b: (a + b) / 2", "jnp.add")

    assert outputs_b["two_batches"].splitlines()[1] == "JAX: {'b': 5.0, 'w': 13.0}"
    assert printed({"a": program})["a"].splitlines()[1] == "JAX: {'b': 10.0, 'w': 26.0}"


def test_the_report_of_variant_b_names_the_line_to_change(outputs_b):
    """The stopped leaf is the bias, and the printed cause is confirmed."""
    report = outputs_b["td_critic, wrong"]

    assert "originates here" in report and "jax: l1.bias" in report
    assert "an extra stop_gradient at" in report and "all gradients agree" in report


def test_variant_b_has_the_points_of_the_first_test():
    """Its parts have the same kinds of questions, and no answer is on the page."""
    (variant_b,), (first, _) = EXAMS_B, EXAMS
    text = PATH_B.read_text(encoding="utf-8")

    assert (variant_b.points, variant_b.minutes) == (first.points, first.minutes)
    assert not [
        question.line for question in QUESTIONS_B if question.line in text and question.line
    ]
    assert f"{first.points} points, {first.minutes} minutes" in text


@pytest.mark.parametrize(
    ("exams", "structure", "gradients"),
    [
        (EXAMS, ["0.weight", "0.bias"], "1 of 3 gradients differ: input 0"),
        (EXAMS_B, [], "3 of 5 gradients differ: 0.weight, 0.bias, input 0"),
    ],
)
def test_question_13_counts_a_missing_gradient_under_structure(exams, structure, gradients):
    """Both keys teach the rule of docs/prove.md: only an input is counted under `gradients`."""
    names: dict[str, Any] = {}
    exec(compile(programs(exams)["verdicts_of_a_port"], "question_13", "exec"), names)
    surfaces = names["report"].surfaces
    first = surfaces["gradients"].findings[0]

    assert [finding.torch for finding in surfaces["structure"].findings] == structure
    assert surfaces["gradients"].text.startswith(gradients)
    assert structure or first.jax_value == pytest.approx(2 * first.torch_value)
