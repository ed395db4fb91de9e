"""Break a statement into lines of at most 100 columns, as ruff does."""

from __future__ import annotations

import ast
import itertools


WIDTH = 100


def fit(source: str, indent: int) -> list[str]:
    """Return one statement on as many lines as it needs."""
    space = " " * indent
    if len(source) + indent <= WIDTH:
        return [space + source]
    terms = operands(source)
    if terms:
        return [space + terms[0], *(f"{space}    {x}" for x in terms[1:]), space + ")"]
    results = _split(source.removeprefix("return ")) if source.startswith("return ") else []
    if len(results) > 1:
        lines = [line for x in results for line in _ended(fit(x, indent + 4), ",")]
        return [f"{space}return (", *lines, f"{space})"]
    found = _break(source, WIDTH - indent)
    if found is None:
        return [space + source]
    begin, end = found
    head, inner, tail = source[: begin + 1], source[begin + 1 : end], source[end:]
    if len(inner) + indent + 4 <= WIDTH and not inner.endswith(","):
        middle = [f"{space}    {inner}"]
    else:
        parts = _split(inner)
        ends = "," if len(parts) > 1 or source[begin] != "(" or "=" in inner else ""
        terms = _terms(inner) if source[begin] == "(" else []
        if len(parts) == 1 and terms:
            middle = [line for x in terms for line in _fit_term(x, indent + 4)]
        elif len(parts) == 1:
            middle = fit(inner, indent + 4)
        else:
            middle = [
                line
                for n, part in enumerate(parts)
                for line in _ended(fit(part, indent + 4), "," if n + 1 < len(parts) else ends)
            ]
    return [space + head, *middle, space + tail]


def operands(source: str) -> list[str]:
    """Return `x = (`, `a`, `+ b` and `- c` of three terms or more, or factors."""
    statement = _parsed(source)
    value = statement.value if isinstance(statement, ast.Assign | ast.Return) else None
    parts = _parts_of(value, source)
    return [] if value is None or len(parts) < 3 else [f"{source[: value.col_offset]}(", *parts]


def _terms(inner: str) -> list[str]:
    """Return `a` and `+ b` of the two or more terms, or factors, that brackets hold."""
    statement = _parsed(inner)
    return _parts_of(statement.value, inner) if isinstance(statement, ast.Expr) else []


def _fit_term(term: str, indent: int) -> list[str]:
    """Return `+ a * b` on one line, or with a line for each factor if it is too long."""
    sign = term[:2] if term[:2] in ("+ ", "- ") else ""
    factors = _terms(term.removeprefix(sign)) if len(term) + indent > WIDTH else []
    if not factors:
        return fit(term, indent)
    return [line for x in (sign + factors[0], *factors[1:]) for line in fit(x, indent)]


def _parsed(source: str) -> ast.stmt | None:
    try:
        (statement,) = ast.parse(source).body
    except SyntaxError:
        return None
    return statement


def _parts_of(value: ast.expr | None, source: str) -> list[str]:
    """Return the operands of a sum or product, each with the operator before it."""
    if not isinstance(value, ast.BinOp):
        return []
    kinds = next((x for x in _PRECEDENCE if isinstance(value.op, x)), ())
    starts, node = [], value
    while isinstance(node, ast.BinOp) and isinstance(node.op, kinds):
        place = node.left.end_col_offset or 0
        starts.append(place + len(source[place:]) - len(source[place:].lstrip(" )")))
        node = node.left
    edges = [value.col_offset, *reversed(starts), len(source)]
    return [source[a:b].strip() for a, b in itertools.pairwise(edges)] if starts else []


_PRECEDENCE = ((ast.Add, ast.Sub), (ast.Mult, ast.Div, ast.MatMult, ast.Mod, ast.FloorDiv))


def _ended(lines: list[str], end: str) -> list[str]:
    return [*lines[:-1], lines[-1] + end]


def _break(source: str, width: int) -> tuple[int, int] | None:
    """Return the last outermost pair of brackets whose first line fits; none of them is empty."""
    pairs: list[tuple[int, int]] = []
    stack: list[int] = []
    quote = ""
    for n, c in enumerate(source):
        if quote:
            quote = "" if c == quote else quote
        elif c in "\"'":
            quote = c
        elif c in "([{":
            stack.append(n)
        elif c in ")]}":
            begin = stack.pop()
            if not stack and n - begin > 1:
                pairs.append((begin, n))
    wide = [p for p in pairs if p[1] - p[0] > 20]
    fitting = [p for p in wide if p[0] < width]
    return (fitting or wide or pairs or [None])[-1]


def _split(source: str) -> list[str]:
    """Split at the commas outside of brackets."""
    parts, depth, quote, last = [], 0, "", 0
    for n, c in enumerate(source):
        if quote:
            quote = "" if c == quote else quote
        elif c in "\"'":
            quote = c
        elif c in "([{":
            depth += 1
        elif c in ")]}":
            depth -= 1
        elif c == "," and depth == 0 and not _names_lambda(source[last:n]):
            parts.append(source[last:n].strip())
            last = n + 1
    rest = source[last:].strip()
    return [*parts, rest] if rest else parts


def _names_lambda(part: str) -> bool:
    """Return whether a comma after `part` is between the names of a lambda."""
    return part.lstrip().startswith("lambda ") and ":" not in part
