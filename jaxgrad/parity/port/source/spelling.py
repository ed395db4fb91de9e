"""Write the text of a statement as a person writes it: quotes, numbers, powers and tuples."""

from __future__ import annotations

import ast
import io
import re
import tokenize

from jaxgrad.parity.port.source import slices, syntax


def statement_text(node: ast.stmt) -> str:
    """Return a statement as a person writes it: `return a, b` and `(a,) = b`."""
    source = syntax.text(node)
    if (
        isinstance(node, ast.Return)
        and isinstance(node.value, ast.Tuple)
        and len(node.value.elts) > 1
    ):
        return "return " + source[len("return (") : -1]
    if (
        isinstance(node, ast.Assign)
        and isinstance(node.targets[0], ast.Tuple)
        and len(node.targets[0].elts) == 1
    ):
        left, right = source.split(", = ", 1)
        return f"({left},) = {right}"
    if isinstance(node, ast.Assign) and isinstance(node.value, ast.Tuple) and node.value.elts:
        left = source[: len(source) - len(syntax.text(node.value))]
        return left + source[len(left) + 1 : -1] if len(node.value.elts) > 1 else source
    return source


def tidy(source: str) -> str:
    """Return a line with strings in double quotes, and `1e-6` and `x**2` as ruff has them."""
    parts = []
    last = 0
    starts = [0]
    source = _NEGATIVE.sub(r"** \1", _POWER.sub(_short_power, source))
    source = slices.with_spaces(source)
    for line in source.split("\n"):
        starts.append(starts[-1] + len(line) + 1)
    try:
        tokens = list(tokenize.generate_tokens(io.StringIO(source).readline))
    except (tokenize.TokenError, IndentationError):
        return source
    for token in tokens:
        new = token.string
        if token.type == tokenize.STRING and re.fullmatch(r"'[^'\"\\]*'", new):
            new = f'"{new[1:-1]}"'
        elif token.type == tokenize.NUMBER:
            new = _number(new)
        if new != token.string:
            begin = starts[token.start[0] - 1] + token.start[1]
            parts += [source[last:begin], new]
            last = begin + len(token.string)
    return "".join([*parts, source[last:]])


_OPERAND = r"(?:[A-Za-z_][\w.]*|\d[\w.]*)"


_POWER = re.compile(
    rf"(?<![\w.\])'\"])({_OPERAND}) \*\* (-?{_OPERAND}|\(-{_OPERAND}\))(?![\w.(\[])"
)


_NEGATIVE = re.compile(r"\*\* \((-\d[\w.]*)\)(?![\w.(\[])")


def _short_power(match: re.Match[str]) -> str:
    return f"{match[1]}**{match[2].strip('()')}"


def _number(text: str) -> str:
    """Return `1e-06` as `1e-6`, and `9000000000000000.0` as `9e15`."""
    text = re.sub(r"e([-+]?)0*(\d)", lambda m: f"e{m[1].strip('+')}{m[2]}", text)
    match = re.fullmatch(r"(\d)(\d*?)(0{5,})\.0", text)
    if match is None:
        return text
    digits = f"{match[1]}.{match[2]}" if match[2] else match[1]
    return f"{digits}e{len(match[2]) + len(match[3])}"
