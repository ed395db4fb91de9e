"""A behaviour side by side in a notebook: both programs, both results, the verdict.

    show("grad_modes/detach")        both programs as they ran, and what each gives
    without("grad_modes/detach")     only what changes when the tool is taken out
    graph("grad_modes/detach")       the backward graphs of both programs
    network()                        the small network that the programs share

Attributes and inline styles only: GitHub strips style sheets and scripts from notebooks.
"""

import ast
import dataclasses
import dis
import fnmatch
import functools
import html
import inspect
import re
import textwrap
import types
from collections.abc import Callable, Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from jaxgrad.parity.compare import compare, flatten
from parity_tests.case import Case, identity, load
from parity_tests.engine import Result, run
from parity_tests.pictures import picture
from parity_tests.program import Program
from parity_tests.report import SIGNS
from parity_tests.selection import select
from parity_tests.settings import configure
from parity_tests.witness import split, witness


ROWS = 12  # leaves of a result that are printed
SMALL = 6  # elements of an array that is printed whole
FOLD = 62  # characters of a line of code
ABSENT = "–"
SAME = "the same"
ZERO = "0 to rounding"
_GREEN, _AMBER = "#1f883d", "#9a6700"  # both readable on white and on black
_CELL = "text-align:left;vertical-align:top;padding:4px 10px"
_CODE = (
    "text-align:left;white-space:pre-wrap;font-family:ui-monospace,monospace;font-size:12px;"
    "line-height:1.45;margin:0"
)


@dataclasses.dataclass(frozen=True)
class Shown:
    """What a notebook displays: HTML where it can, else plain text."""

    title: str
    sources: tuple[tuple[str, str], ...] = ()  # where it stands, and the text that ran
    columns: tuple[str, ...] = ()
    rows: tuple[tuple[str, ...], ...] = ()
    verdict: str = ""
    values: Mapping[str, Any] = dataclasses.field(default_factory=dict)  # for plots
    measured: Mapping[str, Any] = dataclasses.field(default_factory=dict)  # bytes, seconds

    def _repr_html_(self) -> str:
        parts = [f"<p>{_prose(self.title)}</p>"]
        if self.sources:
            folded = [html.escape(_fold(text)) for _, text in self.sources]
            code = [f'<pre style="{_CODE}">{text}</pre>' for text in folded]
            parts.append(_table([where for where, _ in self.sources], [code], width="50%"))
        if self.rows:
            parts.append(_table(self.columns, [_cells(row) for row in self.rows]))
        if self.verdict:
            color = _GREEN if self.verdict.startswith("✓") else _AMBER
            parts.append(f'<p style="color:{color}"><b>{_prose(self.verdict)}</b></p>')
        return "\n".join(parts)

    def __repr__(self) -> str:
        rows = [f"  {row[0]}: {' | '.join(row[1:])}" for row in self.rows]
        return "\n".join(filter(None, [self.title, *rows, self.verdict]))


@dataclasses.dataclass(frozen=True)
class Picture:
    """An SVG that a notebook displays, as wide as the page lets it."""

    svg: str

    def _repr_svg_(self) -> str:
        fit = r'width="100%" style="max-width:\1px"'
        return re.sub(r'width="([\d.]+)" height="[\d.]+"', fit, self.svg, count=1)

    def __repr__(self) -> str:
        return re.sub(r"<[^>]*>", "", re.findall(r"<title.*?</title>", self.svg, re.DOTALL)[0])


def show(
    id: str,
    dtype: str | None = None,
    mode: str | None = None,
    *,
    only: str = "*",
    seed: int = 0,
) -> Shown:
    """Both programs side by side as they ran, what each gave, and the verdict.

    Args:
      id: Of a case, `theme/behaviour`.
      dtype: Of its inputs; the first that the case names, if not given.
      mode: "eager" or "jit"; jit, if the case knows it.
      only: Globs over the paths of the results, to print some of them: "loss *weight".
      seed: 0 is the document's own inputs.

    Returns:
      What to display, and `values` by side. Where the case has a tool, the last column is JAX
      without the tool.

    Raises:
      AssertionError: The cell does not pass; a notebook must not show a lesson that is not so.
    """
    made, result, inputs = _run(id, dtype, mode, seed)
    theirs, torch_measured = split(witness(made, result.dtype, seed, "cpu").observed)
    ours, jax_measured = split(Program(made.fun, result.mode)(inputs))
    sides, measured = [theirs, ours], [torch_measured, jax_measured]
    columns = ["", "torch", "", "JAX"]
    if made.control is not None:
        observed, gone = split(Program(made.without_tool(), result.mode)(inputs))
        sides.append(observed)
        measured.append(gone)
        columns.append(f"JAX {_replaced(made)}")
    rows = list(_rows(sides, result.dtype, only))
    assert rows, f"{id} observes nothing that matches {only!r}"
    names = ("torch", "JAX", "without")[: len(sides)]
    return Shown(
        title=made.claim,
        sources=_programs(made),
        columns=tuple(columns),
        rows=(*_cut(rows), *_measured(measured)),
        verdict=_sentence(result),
        values=dict(zip(names, sides, strict=True)),
        measured=dict(zip(names, measured, strict=True)),
    )


def without(
    id: str,
    dtype: str | None = None,
    mode: str | None = None,
    *,
    only: str = "*",
    seed: int = 0,
) -> Shown:
    """What changes in the JAX program when its tool is taken out; arguments as in `show`.

    Raises:
      AssertionError: Nothing changes.
      ValueError: The case has no tool.
    """
    control = _find(id).control
    if control is None:
        raise ValueError(f"{id} has no tool that could be taken out")
    made, result, inputs = _run(id, dtype, mode, seed)
    kept, _ = split(Program(made.fun, result.mode)(inputs))
    gone, _ = split(Program(made.without_tool(), result.mode)(inputs))
    rows = [
        (path, left, right)
        for path, left, sign, right in _rows([kept, gone], result.dtype, only)
        if sign == SIGNS["deviation"]
    ]
    tools = ", ".join(control)
    assert rows, f"{id}: nothing that matches {only!r} changes without {tools}"
    return Shown(
        title=f"The same program {_replaced(made)}; only what changes:",
        columns=("", f"with {tools}", _replaced(made)),
        rows=_cut(rows),
        verdict=f"✓ it matters: {_replaced(made)} the result changes",
        values={"JAX": kept, "without": gone},
    )


def programs(id: str) -> Shown:
    """Both programs side by side, not run: for what takes longer than a notebook should."""
    made = _find(id)
    return Shown(
        title=made.claim,
        sources=_programs(made),
        verdict=f"not run here: python -m parity_tests {made.id}",
    )


def graph(id: str, *, seed: int = 0) -> Picture:
    """The backward graphs of both programs, side by side.

    Raises:
      CaseError: The case has no picture.
    """
    return Picture(picture(_find(id), seed))


def network() -> Shown:
    """The network, the loss and the reading of gradients that most of the programs share."""
    from parity_tests.cases import _net as ours
    from torch_ref import _net as theirs

    def texts(module: Any, names: str) -> str:
        return "\n\n".join(_source(getattr(module, name)) for name in names.split())

    return Shown(
        title="What most of the programs share: input → L1 → L2 → mean squared error.",
        sources=(
            ("torch · torch_ref/_net.py", texts(theirs, "linear Net mlp mse grads")),
            ("JAX · parity_tests/cases/_net.py", texts(ours, "linear forward mlp mse")),
        ),
    )


def text_of(program: Callable[..., Any]) -> str:
    """A program as it ran: what it uses of its own module, and itself without claim and case."""
    pieces = [*_used(program), program]
    pieces.sort(key=lambda piece: inspect.getsourcelines(piece)[1])
    return "\n\n".join(_source(piece, claim=piece is not program) for piece in pieces)


def _programs(made: Case) -> tuple[tuple[str, str], ...]:
    return (
        (f"torch · torch_ref/{made.theme}.py", text_of(made.reference)),
        (f"JAX · parity_tests/cases/{made.theme}.py", text_of(made.fun)),
    )


def _used(program: Callable[..., Any]) -> list[Any]:
    """The functions and classes of the program's own module that it needs, and what they need."""
    found: dict[str, Any] = {}

    def visit(code: types.CodeType, space: dict[str, Any]) -> None:
        for const in code.co_consts:
            if isinstance(const, types.CodeType):
                visit(const, space)
        for step in dis.get_instructions(code):
            if step.opname == "LOAD_GLOBAL":  # not an attribute, not an argument of that name
                need(step.argval, space.get(step.argval))

    def need(name: str, value: Any) -> None:
        own = inspect.isfunction(value) or inspect.isclass(value)
        if not own or value.__module__ != program.__module__ or name in found or value is program:
            return
        found[name] = value
        methods = [value] if inspect.isfunction(value) else vars(value).values()
        for method in methods:
            fun = method.__func__ if isinstance(method, staticmethod) else method
            if inspect.isfunction(fun):
                visit(fun.__code__, fun.__globals__)

    visit(program.__code__, program.__globals__)
    for default in (program.__kwdefaults__ or {}).values():
        need(getattr(default, "__name__", ""), default)
    return list(found.values())


def _source(piece: Any, claim: bool = True) -> str:
    """The text of a function or class; without its decorators, and on request its docstring."""
    text = textwrap.dedent(inspect.getsource(piece)).rstrip()
    node = ast.parse(text).body[0]
    assert isinstance(node, ast.FunctionDef | ast.ClassDef)
    lines = text.splitlines()
    if not claim and ast.get_docstring(node):
        doc, then = node.body[0], node.body[1]
        del lines[doc.lineno - 1 : then.lineno - 1]
    return "\n".join(lines[node.lineno - 1 :])


def _find(id: str) -> Case:
    configure()
    return select(load(), [id])[0]


def _run(id: str, dtype: str | None, mode: str | None, seed: int) -> tuple[Case, Result, Any]:
    made = _find(id)
    dtype = dtype or made.dtypes[0]
    mode = mode or ("jit" if "jit" in made.modes else made.modes[0])
    result = run(made, dtype, mode, seed=seed)
    assert result.passed, str(result)  # `blind`, if taking the tool out made no difference
    return made, result, witness(made, dtype, seed, "cpu").inputs


def _replaced(made: Case) -> str:
    """`without stop_gradient`, or `with clip = only_norm` where something stands in its place."""
    control = made.control or {}
    out = [name for name, value in control.items() if value is identity]
    other = [f"{name} = {_name(value)}" for name, value in control.items() if value is not identity]
    words = [f"without {', '.join(out)}"] if out else []
    return ", ".join([*words, *([f"with {', '.join(other)}"] if other else [])])


def _name(value: Any) -> str:
    if isinstance(value, functools.partial):
        settings = ", ".join(f"{key}={_name(item)}" for key, item in value.keywords.items())
        return f"{_name(value.func)}({settings})"
    return getattr(value, "__name__", repr(value))


def _sentence(result: Result) -> str:
    cell = f"{result.dtype}, {result.mode}"
    if result.verdict == "bitwise":
        return f"✓ the same bits ({cell})"
    if result.verdict == "deviation":
        return f"{SIGNS['deviation']} they differ, and each side is pinned: {result.why}"
    ulp = f"{result.max_ulp_at_scale:.2g} ULP at leaf scale"
    return f"✓ identical to rounding: at most {ulp} apart ({cell})"


def _rows(sides: list[Any], dtype: str, only: str) -> Iterator[tuple[str, ...]]:
    """Path, torch, sign, JAX; and where there is one, what JAX gives without the tool."""
    left, right, *more = [flatten(side) for side in sides]
    signs, zeros = _signs(*sides[:2])
    gone = _signs(sides[1], sides[2])[0] if more else {}
    for path in dict.fromkeys((*_paths(sides[0]), *_paths(sides[1]))):
        if not any(fnmatch.fnmatch(path, glob) for glob in only.split()):
            continue
        texts = [_text(leaves.get(path, ABSENT), dtype) for leaves in (left, right, *more)]
        if path in zeros:
            texts[:2] = [ZERO, ZERO]
        if more and gone.get(path) in (SIGNS["bitwise"], SIGNS["close"]):
            texts[2] = SAME
        yield (path, texts[0], signs[path], *texts[1:])


def _paths(tree: Any, path: str = "") -> Iterator[str]:
    """The paths of `flatten`, in the order in which the program wrote them."""
    if not isinstance(tree, Mapping):
        yield from flatten(tree, path)
        return
    for key, item in tree.items():
        yield from _paths(item, f"{path}/{key}" if path else str(key))


def _signs(left: Any, right: Any) -> tuple[dict[str, str], set[str]]:
    """= the same bits, ~ to rounding, ≠ by more; and the leaves that are noise around zero."""
    found = dict.fromkeys((*flatten(left), *flatten(right)), SIGNS["bitwise"])
    leaves = compare(left, right, zeros=True).leaves
    for leaf in leaves:
        word = "deviation" if leaf.differs else "bitwise" if leaf.verdict == "bitwise" else "close"
        found[leaf.path] = SIGNS[word]
    noise = {leaf.path for leaf in leaves if leaf.structural_zero and leaf.verdict != "bitwise"}
    return found, noise


def _measured(sides: list[Any]) -> Iterator[tuple[str, ...]]:
    """Bytes and seconds: displayed, never compared."""
    flat = [flatten(side or {}) for side in sides]
    for path in dict.fromkeys(path for side in flat for path in side):
        left, right, *more = [_amount(path, side.get(path, ABSENT)) for side in flat]
        yield (path, left, "", right, *more)


def _amount(path: str, value: Any) -> str:
    if path.startswith("seconds") and value != ABSENT:
        return f"{1e6 * float(value):.0f} µs"
    return str(value)


def _text(leaf: Any, dtype: str) -> str:
    if isinstance(leaf, BaseException):
        sentence = re.split(r"\.(?: |$|(?=[A-Z]))|\n", str(leaf))[0]
        return f"{type(leaf).__name__}: {textwrap.shorten(sentence, 110, placeholder=' …')}"
    if not isinstance(leaf, np.ndarray | np.generic):
        return str(leaf)
    leaf = np.asarray(leaf)
    low = f"{leaf.dtype} " if leaf.dtype.kind not in "biu" and str(leaf.dtype) != dtype else ""
    if leaf.dtype.kind not in "biufc":
        leaf = leaf.astype(np.float64)  # bfloat16, which numpy cannot print
    if leaf.size <= SMALL:
        return low + _numbers(leaf.tolist())
    if leaf.dtype == bool:
        return f"{leaf.sum()} of {leaf.size} true"
    shape = " × ".join(str(n) for n in leaf.shape)
    return f"{low}norm {np.linalg.norm(leaf.astype(np.complex128)):.6g}, shape {shape}"


def _numbers(value: Any) -> str:
    if isinstance(value, list):
        return f"[{', '.join(map(_numbers, value))}]"
    return str(value) if isinstance(value, bool | int) else f"{value:.5g}"


def _cut(rows: list[tuple[str, ...]]) -> tuple[tuple[str, ...], ...]:
    if len(rows) <= ROWS + 1:
        return tuple(rows)
    more = (f"… and {len(rows) - ROWS} more", *[""] * (len(rows[0]) - 1))
    return (*rows[:ROWS], more)


def _prose(text: str) -> str:
    """Backticks are code, an empty line is a new paragraph."""
    text = re.sub(r"`([^`]+)`", r"<code>\1</code>", html.escape(text))
    return text.replace("\n\n", "<br>")


def _fold(text: str) -> str:
    """Long lines broken, so that two columns fit on a page that has no style sheet."""
    lines: list[str] = []
    for line in text.splitlines():
        indent = " " * (len(line) - len(line.lstrip()) + 8)
        folded = textwrap.wrap(
            line,
            FOLD,
            subsequent_indent=indent,
            drop_whitespace=False,
            break_long_words=False,
            break_on_hyphens=False,
        )
        lines += [part.rstrip() for part in folded] or [""]
    return "\n".join(lines)


def _cells(row: Sequence[str]) -> list[str]:
    """What a tool changes stands out: the fifth column, where it is not the same."""
    cells = [_inline(text) for text in row]
    changed = len(row) > 4 and row[2] and row[4] != SAME  # what is only measured has no sign
    return [*cells[:4], f"<b>{cells[4]}</b>"] if changed else cells


def _inline(text: str) -> str:
    words = html.escape(text)
    return words if text in (SAME, ZERO, *SIGNS.values(), "") else f"<code>{words}</code>"


def _table(columns: Sequence[str], rows: Sequence[Sequence[str]], width: str = "") -> str:
    """Attributes beside the styles: GitHub keeps only those."""
    place = f'align="left" valign="top" style="{_CELL}"' + (f' width="{width}"' if width else "")
    whole = ' width="100%"' if width else ""
    head = "".join(f"<th {place}>{html.escape(name)}</th>" for name in columns)
    body = "".join(
        "<tr>" + "".join(f"<td {place}>{cell}</td>" for cell in row) + "</tr>\n" for row in rows
    )
    return (
        f'<table style="border-collapse:collapse"{whole}><thead><tr>{head}</tr></thead>\n'
        f"<tbody>{body}</tbody></table>"
    )
