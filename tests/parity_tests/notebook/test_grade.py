"""The command that marks lines and programs gives the points of the key, and no others."""

import csv
import io
import re
import subprocess
import sys

import pytest

from parity_tests.notebook import grade
from parity_tests.notebook.assessment import EXAM, KEY, KEY_B, name
from parity_tests.notebook.assessment_questions import BLANK, EXAMS, EXAMS_B, PARTS
from parity_tests.notebook.grade import Mark, answers, answers_in_csv, marks, runnable, table
from parity_tests.notebook.plain_session import printed
from parity_tests.runner.settings import ROOT


PAGE = (ROOT / "docs" / "teachers_large_class.md").read_text(encoding="utf-8")
FILE, PRINTED, LIST = re.findall(r"```text\n(.*?)```", PAGE, re.DOTALL)
VARIANTS = pytest.mark.parametrize("exams", [EXAMS[:1], EXAMS_B], ids=["A", "B"])


def test_the_page_shows_a_file_and_what_the_command_prints(tmp_path):
    """The notes for a large class have the file of two students and their marks."""
    path = tmp_path / "answers.txt"
    path.write_text(FILE, encoding="utf-8")
    command = [sys.executable, "-m", "parity_tests.notebook.grade", str(path)]
    run = subprocess.run(command, cwd=ROOT, capture_output=True, text=True, check=True)

    assert run.stdout.rstrip() == PRINTED.rstrip()
    assert grade.points_table({}) == LIST
    assert "python -m parity_tests.notebook.grade answers.txt" in PAGE


@VARIANTS
def test_the_lines_of_the_key_get_all_points_and_those_of_the_test_none(exams):
    """The right lines pass with both inputs; the wrong ones, and dots, are to be read."""
    questions = runnable(exams)
    given = {
        "right": {number: question.line for number, question in questions.items()},
        "wrong": {number: question.wrong for number, question in questions.items()},
        "absent": {},
    }
    found = marks(given, exams)

    assert [mark.points for mark in found["right"].values()] == [3, 3, 5, 5, 3, 3, 8]
    assert [mark.points for mark in found["wrong"].values()] == [None] * 7
    assert [mark.points for mark in found["absent"].values()] == [0] * 7
    assert table(found, exams).splitlines()[2].split()[-1] == "30"


def test_every_second_input_changes_what_torch_prints():
    """The second input is another one in both variants, and the line of the key is right there."""
    for exams in (EXAMS[:1], EXAMS_B):
        for question in runnable(exams).values():
            programs = grade._inputs(question, grade._right(question))
            assert len(programs) == 1 + (name(question) in grade.SECOND)
            if len(programs) == 2:
                first, second = printed(dict(zip("ab", programs, strict=True))).values()
                of_torch, of_jax = second.splitlines()
                assert first.splitlines()[0] != of_torch
                assert grade.same(of_torch.removeprefix("torch"), of_jax.removeprefix("JAX"))


OPTAX = """
def loss(p):
    f = lambda x: jax.nn.relu(x @ p["weight"].T + p["bias"])
    return jnp.mean((f(now) - lax.stop_gradient(1 + 0.5 * f(after))) ** 2)
tx = optax.sgd({rate})
updates, state = tx.update(jax.grad(loss)(params), tx.init(params))
params = optax.apply_updates(params, updates)
"""
OTHER_LINES = [  # right for the input on the paper alone, or right in another way
    (9, "return jnp.sum(jnp.where(x > 0, x, 0))", 3),
    (9, "return x[1]", None),
    (9, "return jnp.sum(jaxgrad.functional.relu(x))", 3),
    (10, "return x * lax.stop_gradient(x)", 3),
    (10, "return 3.0 * x", None),
    (10, "stopped = lax.stop_gradient(jnp.array(3.0)) => stopped = jnp.array(1.5)", None),
    (11, "1 + lax.stop_gradient(0.5 * w * after)", 5),
    (11, "target = 4.0", None),
    (12, "{name: first[name] + second[name] for name in first}", 5),
    (12, "total = jaxgrad.accumulate(first, second)", 5),
    (12, "total = {k: first[k] + second[k] for k in ('w', 'b')}", 5),
    (12, "total = {k: first[k] + second[n] for k, n in (('w', 'b'), ('b', 'w'))}", None),
    (12, "total = jax.grad(lambda p: loss(p, 1.0) + loss(p, 3.0))(params)", 5),
    (12, "total = jax.grad(lambda p: sum(loss(p, x) for x in [1.0, 3.0]))(params)", 5),
    (12, "total = jax.grad(lambda p: loss(p, 1.0) + loss(p, 2.0))(params)", None),
    (12, "total = jax.grad(lambda p: loss(p, 10.0**0.5) + 0 * loss(p, 3.0))(params)", None),
    (12, 'total = {"b": jnp.array(8.0), "w": jnp.array(20.0)}', None),
    (14, "tx = optax.adam(0.01)", None),
    (
        14,
        "return torch.optim.AdamW(parameters, lr=0.01, weight_decay=0.1) => "
        "return torch.optim.Adam(parameters, lr=0.01, weight_decay=0.1)",
        None,
    ),
    (14, "no such line => tx = optax.adamw(0.01, weight_decay=0.1)", None),
    (15, 'return lax.stop_gradient(h @ p["l2.weight"].T) + p["l2.bias"]', None),
    (16, "params = {'weight': jnp.array([[0.675, -0.525]]), 'bias': jnp.array([0.425])}", None),
    (16, OPTAX.format(rate=0.1), 8),
    (16, OPTAX.format(rate=0.2), None),
    (16, "x = (", None),
]


def test_another_line_gets_its_points_only_if_it_is_right_for_other_inputs():
    """A line that hits the numbers on the paper by chance is to be read, with its reason."""
    given = {str(n): {number: answer} for n, (number, answer, _) in enumerate(OTHER_LINES)}
    found = marks(given)
    result = [found[str(n)][number] for n, (number, *_) in enumerate(OTHER_LINES)]

    assert [mark.points for mark in result] == [points for *_, points in OTHER_LINES]
    assert all(mark.reason for mark in result if mark.points is None)
    reasons = {
        answer: mark.reason for (_, answer, _), mark in zip(OTHER_LINES, result, strict=True)
    }
    changed = next(reason for answer, reason in reasons.items() if "=> return torch" in answer)
    absent = next(reason for answer, reason in reasons.items() if "no such line" in answer)
    assert ", with a second input" in reasons["return 3.0 * x"]
    assert changed == "it changes torch's line"
    assert absent == "the line 'no such line' is not in the program once"
    assert result[-1].reason == "raises SyntaxError: '(' was never closed"


def test_an_answer_that_does_not_end_or_ends_the_process_is_read_and_the_others_get_marks():
    """A loop and an exit give a question mark with the reason, to one answer of one student."""
    right = "return jnp.sum(jax.nn.relu(x))"
    given = {
        "Ada": {9: "while True: pass", 10: "return lax.stop_gradient(x) * x"},
        "Bo": {9: f"import os; os._exit(3); {right}"},
        "Cy": {9: f"input(); {right}"},
        "Di": {9: f"import sys; sys.__stdout__.write('1'); {right}"},
        "Ed": {9: "import os, signal; os.kill(os.getpid(), signal.SIGSEGV)"},
        "Flo": {9: right},
    }
    found = marks(given, limit=3)

    assert found["Ada"][9] == Mark(None, "did not end in 3 s")
    assert found["Ada"][10] == Mark(3)
    assert found["Bo"][9] == Mark(None, "ends the process with exit status 3")
    assert found["Cy"][9] == Mark(None, "raises EOFError: EOF when reading a line")
    assert found["Di"][9] == Mark(3) == found["Flo"][9]
    assert found["Ed"][9] == Mark(None, "ends the process by the signal SIGSEGV")


def test_a_sum_of_losses_gets_its_points_in_variant_b():
    """The mean of both losses may be divided as a sum or one by one."""
    sums = ("(loss(p, 2.0) + loss(p, 3.0)) / 2", "loss(p, 2.0) / 2 + loss(p, 3.0) / 2")
    given = {each: {12: f"total = jax.grad(lambda p: {each})(params)"} for each in sums}

    assert [mark[12].points for mark in marks(given, EXAMS_B).values()] == [5, 5]


def test_an_answer_may_use_the_usual_imports_of_the_paper():
    """The programs have every name that the paper leaves out of them."""
    _, _, sentence = EXAM.partition("The usual imports are left out: ")
    names = re.findall(r"`(\w+)`", sentence.partition(".")[0])
    scope = {}
    exec(grade.IMPORTS, scope)

    assert len(names) == 8 and set(names) <= set(scope)


def test_the_points_of_a_line_are_those_of_the_marking():
    """Both keys say how many points are for the line; the rest is for an explanation."""
    with_line = [part for part in PARTS[:5] if part.line_points]
    said = (
        (3, "1 point for the line, 2 for the explanation, 2 for the correct line"),
        (5, "5 points for any line"),
        (3, "or for the correct line (14 and 15), 3 for the reason"),
        (8, "2 points for the value as a function"),
    )

    assert [part.line_points for part in with_line] == [points for points, _ in said]
    for path in (KEY, KEY_B):
        text = path.read_text(encoding="utf-8")
        assert all(words in text for _, words in said)
    assert all(q.wrong.endswith(BLANK) for q in with_line[-1].questions)


def test_a_table_and_a_text_have_the_same_answers():
    """A form of a school gives a table; an answer may have several lines in both."""
    text = "# Ada\n9: return x\n16: a = 1\nb = 2\n\n# Bob\n9:\n"
    rows = 'student,9,16\nAda,return x,"a = 1\nb = 2"\nBob,,\n'
    table_ = answers_in_csv(rows)

    assert answers(text)["Ada"] == table_["Ada"] == {9: "return x", 16: "a = 1\nb = 2"}
    assert answers(text)["Bob"] == {9: ""} and table_["Bob"] == {}
    assert answers_in_csv(rows.replace(",", ";").replace("\n", "\r\n"))["Ada"][9] == "return x"
    assert set(marks({"Bob": {9: " "}})["Bob"].values()) == {Mark(0)}


PROGRAM = "16:\n# the target\na = 1\n\n# a second comment\ndef f():\n    # inside\n    return a"


@pytest.mark.parametrize(
    ("text", "students", "unclear"),
    [
        (f"# Ada\n{PROGRAM}\n# Bo\n9: x\n", {"Ada": [16], "Bo": [9]}, ""),
        (f"# Ada\n{PROGRAM}\n\n# Bo\n\n# Cy\n", {"Ada": [16], "Bo": [], "Cy": []}, ""),
        ("# Ada\n9: x\n# flat at 0\n\n# Bo\n9: x\n", {"Ada": [9], "Bo": [9]}, ""),
        ("# Ada\n9: x\n\n# Bo\n# Cy\n9: x\n", {"Ada": [9], "Bo": [], "Cy": [9]}, ""),
        ("# Ada\n9: x\n10: y\n# Bo\n10: x\n", {"Ada": [9, 10], "Bo": [10]}, ""),
        (
            "# Ada\n9: x\n# flat at 0\n10: x\n",
            {"Ada": [9, 10]},
            "Ada: line 3, '# flat at 0', is read as a comment; put an empty line above a name",
        ),
        (
            "# Ada\n9: x\n\n# Bo\n10: x\n",
            {"Ada": [9], "Bo": [10]},
            "Bo: the answers begin with question 10, and those of Ada above end with 9; "
            "leave out the empty line above a comment",
        ),
    ],
)
def test_a_comment_in_an_answer_is_not_a_student(text, students, unclear):
    """A comment belongs to its answer, and the command lists each line that may be a name too."""
    found = answers(text)

    assert {student: list(of) for student, of in found.items()} == students
    assert "\n".join(grade.doubts(text)) == unclear
    if PROGRAM in text:
        assert found["Ada"][16] == PROGRAM.removeprefix("16:\n")
    if unclear:
        assert table(marks({}), unclear=grade.doubts(text)).endswith(f"\n\nRead:\n{unclear}")


def test_the_names_are_printed_before_anything_runs(tmp_path, capsys):
    """With `--names` the command prints the names and the unclear lines, and no marks."""
    path = tmp_path / "answers.txt"
    path.write_text("# Ada\n9: while True: pass\n# flat\n10: x\n\n# Bo\n9: x\n")
    grade.main([str(path), "--names"])
    out, err = capsys.readouterr()

    assert err == "2 names: Ada, Bo\n"
    assert out == "".join(f"{line}\n" for line in grade.doubts(path.read_text()))
    assert "line 3, '# flat'," in out


def test_an_answer_may_be_the_expression_of_its_line():
    """The command adds `return` or the name to an expression, and to nothing else."""
    of = runnable()
    relu, comment = "jnp.sum(jax.nn.relu(x))", "# relu has gradient 0 at 0"
    completed = [grade.with_answer(of[9], each) for each in (relu, f"return {relu}")]
    changed = "return x * x => lax.stop_gradient(x) * x"
    part = "x * x => lax.stop_gradient(x) * x"

    assert completed[0] == completed[1]
    assert f"    {comment}\n    return {relu}\n" in grade.with_answer(of[9], f"{comment}\n{relu}")
    assert f"    return {relu}\n    {comment}\n" in grade.with_answer(of[9], f"{relu}\n{comment}")
    assert f"    return ({relu}\n    )\n" in grade.with_answer(of[9], f"({relu}\n)")
    assert grade.with_answer(of[10], changed) == grade.with_answer(of[10], part)
    assert "    y = x\n    x * y\n" in grade.with_answer(of[10], "y = x\nx * y")
    assert "\nstopped = x\n" in grade.with_answer(
        of[10], "stopped = lax.stop_gradient(jnp.array(3.0)) => x"
    )


@VARIANTS
def test_the_expressions_of_the_key_get_all_points(exams):
    """An answer without `return` or `name = ` is a slip that costs no points."""
    lines = {n: question.line for n, question in runnable(exams).items() if n != 16}
    given = {n: grade.BEGINS.sub("", line, count=1) for n, line in lines.items()}
    found = marks({"Ada": given}, exams)["Ada"]

    assert all(given[n] != lines[n] for n in lines)
    assert [mark.points for mark in found.values()] == [3, 3, 5, 5, 3, 3, 0]


@VARIANTS
def test_the_list_of_points_has_every_question_and_adds_what_is_filled_in(exams):
    """The most points are those of the test; what is marked by hand is empty in every row."""
    right = {number: Mark(grade.points(number, exams)) for number in runnable(exams)}
    unclear = {9: Mark(None, "raises an error"), 10: Mark(None, "prints 1")}
    found = {"Ada": right, "Bo, B.": right | unclear}
    head, most, ada, bo = csv.reader(io.StringIO(grade.points_table(found, exams)))
    (exam,) = exams
    *_, total, read = range(len(head))

    assert head[0] == "student" and head[total:] == ["sum", "read"]
    assert list(dict.fromkeys(int(title.split()[0]) for title in head[1:total])) == [*range(1, 17)]
    assert sum(map(int, most[1:total])) == exam.points == 70
    assert sum(int(cell) for cell in ada[1:total] if cell) == 30
    by_hand = [title for title, cell in zip(head, ada, strict=True) if cell == ""]
    assert by_hand == [
        *map(str, range(1, 9)),
        "9 text",
        "10 text",
        "13",
        "14 text",
        "15 text",
        "read",
    ]
    assert bo[0] == "Bo, B." and bo[head.index("9")] == "?"
    assert bo[read] == "9: raises an error; 10: prints 1"
    for row, cells in enumerate((most, ada, bo), 2):
        assert cells[total] == f"=SUM(B{row}:{grade._column(total - 1)}{row})"
    assert [grade._column(n) for n in (0, 25, 26, 27, 51, 52)] == ["A", "Z", "AA", "AB", "AZ", "BA"]


def test_the_command_writes_the_list_beside_the_table(tmp_path, capsys):
    """A spreadsheet reads the names; the page for a large class has the head of the list."""
    path, out = tmp_path / "answers.csv", tmp_path / "points.csv"
    path.write_text("student;9\nÄnne;\n", encoding="utf-8-sig")
    grade.main([str(path), "--csv", str(out)])

    assert capsys.readouterr().out == f"{table(marks({'Änne': {}}))}\n"
    assert out.read_bytes().startswith(b"\xef\xbb\xbfstudent,1,") and "Änne" in out.read_text(
        "utf-8"
    )
    with pytest.raises(SystemExit):
        grade.main([str(path), "--csv", str(path)])
    assert "--csv would replace the answers" in capsys.readouterr().err


@pytest.mark.parametrize(
    ("file", "text", "message"),
    [
        ("a.txt", "9: return x\n", "write a line such as `# Ada` before '9: return x'"),
        ("a.txt", "# Ada\nreturn x\n", "write a number such as `9:` before 'return x'"),
        ("a.txt", "# Ada\n# Ada\n", "the student 'Ada' occurs twice"),
        ("a.txt", "# Ada\n9: a\n9: b\n", "question 9 occurs twice below one name"),
        ("a.csv", "name,9\nAda,return x\n", "the first line has no column `student`"),
        ("a.csv", "student,9\nAda,a\nAda,b\n", "the student 'Ada' occurs twice"),
    ],
)
def test_a_file_that_is_not_clear_is_refused(file, text, message, tmp_path, capsys):
    """The command names the file and what is wrong, and marks nothing."""
    path = tmp_path / file
    path.write_text(text, encoding="utf-8")

    with pytest.raises(SystemExit):
        grade.main([str(path)])
    assert message in capsys.readouterr().err


def test_a_file_that_is_absent_is_named(tmp_path, capsys):
    """The command has no traceback for a wrong path."""
    with pytest.raises(SystemExit):
        grade.main([str(tmp_path / "absent.txt")])
    assert "absent.txt: " in capsys.readouterr().err
