"""Mark the lines and programs that students wrote in the first test: run them and print the points.

    python -m parity_tests.notebook.grade answers.txt
    python -m parity_tests.notebook.grade --variant-b answers.csv
    python -m parity_tests.notebook.grade answers.txt --csv points.csv

docs/teachers_large_class.md shows a file of answers. An answer gets its points if the program of
the test prints what it prints with the line of the key, for the input on the paper and for a second
one. An answer that does not end in time, or that ends its process, is to be read, and the others
get their marks. The command runs what is in the file, so read a file that you have not typed
yourself.
"""

import argparse
import ast
import csv
import io
import pathlib
import re
import sys
import textwrap
from collections.abc import Mapping, Sequence
from typing import NamedTuple

from parity_tests.notebook import assessment_questions as questions
from parity_tests.notebook.assessment import name, numbered, programs, shown
from parity_tests.notebook.assessment_questions import EXAMS, EXAMS_B, Exam, Question
from parity_tests.notebook.limited_session import EXITED, UNENDED, LimitedSession
from parity_tests.notebook.plain_session import RAISED


STUDENT, ANSWER = re.compile(r"^# *(.+?) *$"), re.compile(r"^(\d+): ?(.*)$")
ENCODING = "utf-8-sig"  # a spreadsheet writes the mark at the beginning, and needs it for umlauts
CHANGED = " => "  # between a line of the program and what the student makes of it
DICT = re.compile(r"\{([^{}\n]*)\}")
FILE = re.compile(r" \(program_\d+\.py, line \d+\)$")  # of the program that a syntax error names
BEGINS = re.compile(r"return |\w+ = ")  # what may be left out of an answer
FIRST_CODE = re.compile(r"^ *[^#\s]", re.MULTILINE)
LIMIT = 60  # seconds for each program of an answer
NUMBER = re.compile(r"-?\d+\.?\d*(?:e-?\d+)?")
# The names that the paper calls the usual imports. An answer may use one that the program does not.
IMPORTS = """\
import jax, jax.numpy as jnp, numpy as np, optax, torch
from jax import lax
import jaxgrad
from jaxgrad.parity import prove
"""
# A second input of each question: parts of its program, as patterns, and what replaces them.
SECOND: Mapping[str, Sequence[tuple[str, str]]] = {
    questions.relu_at_zero.__name__: [(r"\[0\.0, -?[\d.]+\]", "[0.0, -1.0, 2.0]")],
    questions.stopped_outside.__name__: [
        (r"((?:torch\.tensor|= lax\.stop_gradient\(jnp\.array)\()[\d.]+", r"\g<1>5.0")
    ],
    questions.bootstrapped_target.__name__: [
        (r"(w = torch\.tensor\()[\d.]+", r"\g<1>4.0"),
        (r"(grad\(loss\)\()[\d.]+", r"\g<1>4.0"),
    ],
    questions.two_batches.__name__: [
        (r"(for \w+ in [(\[])[\d.]+, [\d.]+", r"\g<1>4.0, 5.0"),
        (r"(\(params, )[\d.]+(\), jax\.grad\(loss\)\(params, )[\d.]+", r"\g<1>4.0\g<2>5.0"),
        # An answer may differentiate the sum of both losses.
        (r"(\bloss\(\w+, )[\d.]+(\)[ /\d.]*\+ *loss\(\w+, )[\d.]+", r"\g<1>4.0\g<2>5.0"),
    ],
    questions.port_of_a_step.__name__: [
        (r"(now, after = np\.float32\()\[\[.*?\]\]", r"\g<1>[[2, 1], [1, 4]]")
    ],
}


class Mark(NamedTuple):
    """The points of an answer, or why it has to be read."""

    points: int | None
    reason: str = ""


def answers(text: str) -> dict[str, dict[int, str]]:
    """Return the answers of each student by the number of the question.

    Args:
        text: A line with `#` and a name begins a student, one with a number and a colon an answer.
            Between the answers, a line with `#` is a name only if a question number follows in the
            next line that is not empty, and if it comes after an empty line or that number does
            not exceed the last one. Otherwise it is a comment and belongs to the answer.

    Raises:
        ValueError: An answer comes before the first name, or a name or a number occurs twice.

    Example:
        >>> answers("# Ada\\n9: return x\\n16:\\n# a comment\\na = 1\\n# Bo\\n9: return 1\\n")
        {'Ada': {9: 'return x', 16: '# a comment\\na = 1'}, 'Bo': {9: 'return 1'}}
    """
    return _answers_and_doubts(text)[0]


def doubts(text: str) -> list[str]:
    """Return a sentence for each line with `#` that may be a comment as well as a name.

    Args:
        text: The text of `answers`.

    Example:
        >>> doubts("# Ada\\n9: return x\\n# relu is flat\\n10: return x\\n")
        ["Ada: line 3, '# relu is flat', is read as a comment; put an empty line above a name"]
    """
    return _answers_and_doubts(text)[1]


def _answers_and_doubts(text: str) -> tuple[dict[str, dict[int, str]], list[str]]:
    found: dict[str, dict[int, str]] = {}
    unclear: list[str] = []
    name, number = "", 0
    lines = text.splitlines()
    for n, line in enumerate(lines):
        answer = ANSWER.match(line)
        student = None if line.startswith("# your") else STUDENT.match(line)
        if student and number:
            following = next((each for each in lines[n + 1 :] if each.strip()), "#")
            next_number = ANSWER.match(following)
            empty_above = not lines[n - 1].strip()
            begin = int(next_number[1]) if next_number else 0
            continues = begin > number
            if empty_above and continues:
                unclear.append(
                    f"{student[1]}: the answers begin with question {begin}, and those of "
                    f"{name} above end with {number}; leave out the empty line above a comment"
                )
            elif continues:
                unclear.append(
                    f"{name}: line {n + 1}, {line!r}, is read as a comment; "
                    "put an empty line above a name"
                )
            # A student without answers comes before another one, or last.
            without = empty_above and following.startswith("#")
            if not without and (not next_number or (continues and not empty_above)):
                student = None
        if student:
            name, number = student[1], 0
            if name in found:
                raise ValueError(f"the student {name!r} occurs twice")
            found[name] = {}
        elif answer and name:
            number = int(answer[1])
            if number in found[name]:
                raise ValueError(f"question {number} occurs twice below one name")
            found[name][number] = answer[2]
        elif number:
            found[name][number] += f"\n{line}"
        elif line.strip():
            before = "a number such as `9:`" if name else "a line such as `# Ada`"
            raise ValueError(f"write {before} before {line!r}")
    return {
        student: {n: answer.strip("\n").rstrip() for n, answer in of.items()}
        for student, of in found.items()
    }, unclear


def answers_in_csv(text: str) -> dict[str, dict[int, str]]:
    """Return the same for a table with the columns `student`, `9`, `10` and so on.

    Args:
        text: The table as CSV, with commas or semicolons between the columns.

    Raises:
        ValueError: There is no column `student`, or a student occurs twice.

    Example:
        >>> answers_in_csv("student;9;10\\nAda;return x;\\n")
        {'Ada': {9: 'return x'}}
    """
    head = text.partition("\n")[0]
    delimiter = ";" if head.count(";") > head.count(",") else ","
    found: dict[str, dict[int, str]] = {}
    for row in csv.DictReader(io.StringIO(text, newline=""), delimiter=delimiter):
        if "student" not in row:
            raise ValueError("the first line has no column `student`")
        if row["student"] in found:
            raise ValueError(f"the student {row['student']!r} occurs twice")
        cells = ((name, cell) for name, cell in row.items() if name and name.strip().isdigit())
        found[row["student"]] = {int(n): cell for n, cell in cells if cell and cell.strip()}
    return found


def with_answer(question: Question, answer: str) -> str:
    """Return the program of the test with the line that a student wrote.

    Args:
        question: The question.
        answer: The line, or lines. `OLD => NEW` replaces another line than the one of the key. If
            the old line begins with `return` or an assignment, its expression is enough.

    Raises:
        ValueError: The old line is not in the program exactly once, or is a line of torch.
    """
    old, _, new = answer.rpartition(CHANGED)
    old = old.strip() or question.wrong
    if old != question.wrong and "torch" in old:
        raise ValueError("it changes torch's line")
    program = shown(question)
    lines = [line for line in program.splitlines() if old.splitlines()[0] in line]
    if len(lines) != 1 or program.count(old) != 1:
        raise ValueError(f"the line {old!r} is not in the program once")
    new = textwrap.dedent(new).strip("\n")
    begins = BEGINS.match(old)
    if begins and _is_expression(new):
        new = FIRST_CODE.sub(lambda match: f"{begins[0]}{match[0]}", new, count=1)
    margin = lines[0][: len(lines[0]) - len(lines[0].lstrip())]
    before, _, after = program.partition(old)
    return before + textwrap.indent(new, margin).removeprefix(margin) + after


def _is_expression(code: str) -> bool:
    """Return whether the code is one expression, perhaps with comments."""
    try:
        ast.parse(code, mode="eval")
    except (SyntaxError, ValueError, RecursionError, MemoryError):
        return False
    return True


def marks(
    given: Mapping[str, Mapping[int, str]],
    exams: Sequence[Exam] = EXAMS[:1],
    limit: float = LIMIT,
) -> dict[str, dict[int, Mark]]:
    """Run the answers and return their marks by student and question.

    Args:
        given: The answers by student and question.
        exams: The test.
        limit: The seconds that each program of an answer may run.
    """
    by_number = runnable(exams)
    keys = {number: _inputs(question, _right(question)) for number, question in by_number.items()}
    texts: dict[str, str] = {}
    with LimitedSession(before=IMPORTS) as session:

        def printed(program: str, limit: float | None) -> str:
            if program not in texts:
                texts[program] = session.printed(f"program_{len(texts)}", program, limit)
            return texts[program]

        def mark(number: int, answer: str) -> Mark:
            if not answer.strip():
                return Mark(0)
            try:
                program = with_answer(by_number[number], answer)
            except ValueError as error:
                return Mark(None, str(error))
            pairs = zip(keys[number], _inputs(by_number[number], program), strict=True)
            for n, (key, each) in enumerate(pairs):
                right = printed(key, None)  # first, so that no limit applies to the key
                text = printed(each, limit)
                if not same(right, text):
                    second = ", with a second input" * bool(n)
                    return Mark(None, f"{_difference(right, text)}{second}")
            return Mark(points(number, exams))

        return {
            student: {number: mark(number, of.get(number, "")) for number in by_number}
            for student, of in given.items()
        }


def runnable(exams: Sequence[Exam] = EXAMS[:1]) -> dict[int, Question]:
    """Return the questions that ask for a line or a program, by their number."""
    return {number: question for number, _, question in numbered(exams) if question.line}


def points(number: int, exams: Sequence[Exam] = EXAMS[:1]) -> int:
    """Return the points that a right line or program gets, without those for an explanation."""
    return next(part.line_points for n, part, _ in numbered(exams) if n == number)


def same(right: str, text: str) -> bool:
    """Return whether two outputs have the same words and, up to rounding, the same numbers.

    The order of the entries of a dict does not matter.
    """
    right, text = (DICT.sub(_in_order, each) for each in (right, text))
    pairs = [[float(n) for n in NUMBER.findall(each)] for each in (right, text)]
    return NUMBER.sub("#", right) == NUMBER.sub("#", text) and all(
        abs(a - b) <= 1e-3 * max(1, abs(a)) for a, b in zip(*pairs, strict=True)
    )


def _in_order(match: re.Match[str]) -> str:
    return f"{{{', '.join(sorted(match[1].split(', ')))}}}"


def _difference(right: str, text: str) -> str:
    """Return the first line that differs from that of the key, or the error."""
    lines = text.splitlines()
    if lines and lines[-1].startswith((RAISED, UNENDED, EXITED)):
        return FILE.sub("", lines[-1])
    pairs = zip(right.splitlines(), [*lines, *right.splitlines()], strict=False)
    wanted, printed_ = next(pair for pair in pairs if not same(*pair))
    return f"prints {printed_!r}, the key {wanted!r}" if lines else "prints nothing"


def _right(question: Question) -> str:
    """Return the program with the line of the key."""
    part = next(part for _, part, each in numbered(EXAMS + EXAMS_B) if each is question)
    exam = next(exam for exam in EXAMS + EXAMS_B if part in exam.parts)
    return programs([exam])[name(question)]


def _inputs(question: Question, program: str) -> list[str]:
    """Return a program with the input on the paper, and with the second input if there is one.

    Both have the usual imports above them.
    """
    changed = program
    for pattern, new in SECOND.get(name(question), ()):
        changed = re.sub(pattern, new, changed)
    return [IMPORTS + each for each in dict.fromkeys([program, changed])]


def table(
    found: Mapping[str, Mapping[int, Mark]],
    exams: Sequence[Exam] = EXAMS[:1],
    unclear: Sequence[str] = (),
) -> str:
    """Return the marks as a table, and below it the lines of the file and the answers to read.

    Args:
        found: The marks.
        exams: The test.
        unclear: The sentences of `doubts`.
    """
    numbers = list(runnable(exams))
    width = max(map(len, [*found, "points"]))
    of = [points(number, exams) for number in numbers]

    def row(title: str, cells: Sequence[object]) -> str:
        return f"{title:<{width}}" + "".join(f"{cell!s:>5}" for cell in cells)

    lines = [row("", [*numbers, "sum"]), row("points", [*of, sum(of)])]
    read = list(unclear)
    for student, marked in found.items():
        cells = ["?" if mark.points is None else mark.points for mark in marked.values()]
        total = sum(mark.points or 0 for mark in marked.values())
        lines.append(row(student, [*cells, total]))
        read += [
            f"{student}, question {number}: {mark.reason}"
            for number, mark in marked.items()
            if mark.points is None
        ]
    return "\n".join([*lines, *(["", "Read:", *read] if read else [])])


def points_table(found: Mapping[str, Mapping[int, Mark]], exams: Sequence[Exam] = EXAMS[:1]) -> str:
    """Return a table of all points as CSV, in which the parts to mark by hand are empty.

    The second row has the most points of each column. A cell of the column `sum` is a formula, so
    that a spreadsheet adds the points that are filled in.
    """
    columns: list[tuple[str, int, int]] = []  # title, most points, question if it is marked here
    for number, part, question in numbered(exams):
        if not question.line:
            columns.append((str(number), part.points, 0))
            continue
        by_hand = part.points - part.line_points
        columns.append((str(number), part.line_points, number))
        if by_hand:
            columns.append((f"{number} text", by_hand, 0))
    last = _column(len(columns))
    rows: list[list[object]] = [
        ["student", *(title for title, *_ in columns), "sum", "read"],
        ["points", *(most for _, most, _ in columns), f"=SUM(B2:{last}2)", ""],
    ]
    for n, (student, marked) in enumerate(found.items(), 3):
        cells = [
            "" if not number else "?" if marked[number].points is None else marked[number].points
            for _, _, number in columns
        ]
        read = "; ".join(f"{n}: {mark.reason}" for n, mark in marked.items() if mark.reason)
        rows.append([student, *cells, f"=SUM(B{n}:{last}{n})", read])
    text = io.StringIO()
    csv.writer(text, lineterminator="\n").writerows(rows)
    return text.getvalue()


def _column(index: int) -> str:
    """Return the letters of a column of a spreadsheet; 0 is A."""
    before, letter = divmod(index, 26)
    return (_column(before - 1) if before else "") + chr(ord("A") + letter)


def main(arguments: Sequence[str] | None = None) -> None:
    """Print the marks of a file of answers."""
    parser = argparse.ArgumentParser(
        prog="python -m parity_tests.notebook.grade",
        description="Run the lines and programs of the first test, and print their points.",
    )
    parser.add_argument("file", type=pathlib.Path, help="answers.txt, or a table answers.csv")
    parser.add_argument("--variant-b", action="store_true", help="the answers are to variant B")
    parser.add_argument(
        "--csv", type=pathlib.Path, help="also write the points, with empty cells to fill by hand"
    )
    parser.add_argument(
        "--names", action="store_true", help="print the names in the file and run nothing"
    )
    parser.add_argument(
        "--limit",
        type=float,
        default=LIMIT,
        metavar="SECONDS",
        help="the time that each program of an answer may run (default: %(default)s)",
    )
    options = parser.parse_args(arguments)
    exams = EXAMS_B if options.variant_b else EXAMS[:1]
    try:
        text = options.file.read_text(encoding=ENCODING)
        is_table = options.file.suffix == ".csv"
        given = answers_in_csv(text) if is_table else answers(text)
        if options.csv and options.csv.resolve() == options.file.resolve():
            raise ValueError("--csv would replace the answers; name another file")
    except (OSError, ValueError) as error:
        parser.error(f"{options.file}: {error}")
    unclear = [] if is_table else doubts(text)
    plural = "s" * (len(given) != 1)
    print(f"{len(given)} name{plural}: {', '.join(given)}", file=sys.stderr, flush=True)
    if options.names:
        print("".join(f"{each}\n" for each in unclear), end="")
        return
    found = marks(given, exams, options.limit)
    print(table(found, exams, unclear))
    if options.csv:
        options.csv.write_text(points_table(found, exams), encoding=ENCODING)


if __name__ == "__main__":
    main()
