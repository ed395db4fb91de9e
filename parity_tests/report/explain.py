"""Explain one case: both sources side by side, the claim, the verdicts and the differences."""

import inspect
import itertools
import textwrap
from collections.abc import Callable, Sequence
from typing import Any

from parity_tests.case import Case
from parity_tests.report.text import cell_text
from parity_tests.runner.engine import Result


WIDTH = 74


def explain(case: Case, results: Sequence[Result]) -> str:
    """Return the text that `--explain` prints."""
    torch = source(case.reference)
    jax = source(case.fun)
    lines = [f"{case.id}  ({', '.join(case.source)})", "", textwrap.fill(case.claim, 2 * WIDTH), ""]
    lines += side_by_side(torch, jax, (f"torch_ref/{case.theme}.py", _where(case)))
    lines += ["", "verdict   " + "   ".join(cell_text(result) for result in results)]
    if case.deviation is not None:
        lines.append(f"why       {case.deviation.why}")
    for result in results:
        if not result.passed:
            lines += ["", str(result)]
    lines += ["", *_differences(results)]
    for result in results:
        if result.shown:
            lines.append(f"not compared: torch {result.shown['torch']}")
            lines.append(f"              JAX   {result.shown['jax']}")
            break
    return "\n".join(lines)


def source(fun: Callable[..., Any]) -> str:
    """Return the source text of a program without its `@case` decorator."""
    text = textwrap.dedent(inspect.getsource(fun)).rstrip()
    return text[text.index("def ") :] if text.startswith("@") else text


def side_by_side(left: str, right: str, titles: tuple[str, str]) -> list[str]:
    """Format two texts as two columns of plain text with wrapped lines."""
    columns = [_wrap(text) for text in (left, right)]
    rows = itertools.zip_longest(*columns, fillvalue="")
    head = [f"{titles[0]:<{WIDTH}} | {titles[1]}", f"{'-' * WIDTH}-+-{'-' * WIDTH}"]
    return head + [f"{a:<{WIDTH}} | {b}".rstrip() for a, b in rows]


def _wrap(text: str) -> list[str]:
    lines: list[str] = []
    for row in text.splitlines():
        indent = " " * (len(row) - len(row.lstrip()) + 6)
        lines += textwrap.wrap(
            row, WIDTH, subsequent_indent=indent, drop_whitespace=False, break_long_words=False
        ) or [""]
    return lines


def _differences(results: Sequence[Result]) -> list[str]:
    """List the leaf with the largest difference of each cell, with both values."""
    lines = ["largest differences:"]
    for result in results:
        leaves = [leaf for leaf in result.leaves if leaf.ulp_at_scale > 0 or leaf.verdict == "fail"]
        cell = f"  {result.dtype} {result.mode}: "
        if not leaves:
            lines.append(cell + ("none, bit-identical" if result.leaves else "not compared"))
            continue
        leaf = max(leaves, key=lambda leaf: (leaf.verdict == "fail", leaf.ulp_at_scale))
        ratio = "" if leaf.oracle_ratio is None else f", {leaf.oracle_ratio:.2g}x torch's own error"
        lines.append(
            f"{cell}{leaf.path}{list(leaf.index)} torch {leaf.torch} JAX {leaf.jax} "
            f"({leaf.ulp_at_scale:.2g} ULP at leaf scale{ratio})"
        )
    return lines


def _where(case: Case) -> str:
    return f"parity_tests/cases/{case.theme}.py"
