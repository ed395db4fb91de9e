"""One case for a person: both sources side by side, the claim, the verdicts, where they differ."""

import inspect
import itertools
import textwrap
from collections.abc import Callable, Sequence
from typing import Any

from parity_tests.case import Case
from parity_tests.report.text import cell_text
from parity_tests.runner.engine import Result


WIDTH = 74


def explain(made: Case, results: Sequence[Result]) -> str:
    """The text of `--explain`."""
    torch = source(made.reference)
    jax = source(made.fun)
    lines = [f"{made.id}  ({', '.join(made.source)})", "", textwrap.fill(made.claim, 2 * WIDTH), ""]
    lines += side_by_side(torch, jax, (f"torch_ref/{made.theme}.py", _where(made)))
    lines += ["", "verdict   " + "   ".join(cell_text(result) for result in results)]
    if made.deviation is not None:
        lines.append(f"why       {made.deviation.why}")
    for result in results:
        if not result.passed:
            lines += ["", str(result)]
    lines += ["", *_differences(results)]
    for result in results:
        if result.shown:
            lines.append(f"shown     torch {result.shown['torch']}")
            lines.append(f"          JAX   {result.shown['jax']}")
            break
    return "\n".join(lines)


def source(fun: Callable[..., Any]) -> str:
    """The text of a program that ran; its registration above it is left out."""
    text = textwrap.dedent(inspect.getsource(fun)).rstrip()
    return text[text.index("def ") :] if text.startswith("@") else text


def side_by_side(left: str, right: str, titles: tuple[str, str]) -> list[str]:
    """Two texts in two columns of plain text; long lines are wrapped."""
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
    """Where the two really differ: the furthest leaf of each cell, with both values."""
    lines = ["where they really differ:"]
    for result in results:
        apart = [leaf for leaf in result.leaves if leaf.ulp_at_scale > 0 or leaf.verdict == "fail"]
        cell = f"  {result.dtype} {result.mode}: "
        if not apart:
            lines.append(
                cell + ("nowhere, every bit is the same" if result.leaves else "not compared")
            )
            continue
        leaf = max(apart, key=lambda leaf: (leaf.verdict == "fail", leaf.ulp_at_scale))
        ratio = "" if leaf.oracle_ratio is None else f", {leaf.oracle_ratio:.2g}x torch's own error"
        lines.append(
            f"{cell}{leaf.path}{list(leaf.index)} torch {leaf.torch} JAX {leaf.jax} "
            f"({leaf.ulp_at_scale:.2g} ULP at leaf scale{ratio})"
        )
    return lines


def _where(made: Case) -> str:
    return f"parity_tests/cases/{made.theme}.py"
