"""Tests on buffers that a module does not change while it runs, such as `if self.initialized:`.

A branch on such a test is written as `lax.cond` where that is possible. Otherwise the port has the
arm that torch takes, and says which value of the buffer it assumes.
"""

from __future__ import annotations

import ast
from collections.abc import Mapping

import torch

from jaxgrad.parity.port.source import syntax
from jaxgrad.parity.port.source.refusals import PortError
from jaxgrad.parity.port.statements import branches as arms
from jaxgrad.parity.port.values.equal import same
from jaxgrad.parity.port.values.fixed import buffers_of, tables
from jaxgrad.parity.port.values.scope import Run, Scope
from jaxgrad.parity.port.values.value_types import Folded, Tensor


def of_test(test: Tensor) -> frozenset[str] | None:
    """Return the buffers on which a test depends, or None if it depends on anything else."""
    return buffers_of(test.real) if test.real.numel() == 1 else None


def branches(node: ast.If, test: Tensor, scope: Scope) -> bool:
    """Write a branch as `lax.cond`, and return whether that was possible."""
    start = scope.mark()
    held = [(b, b.detach().clone()) for b in scope.run.module.buffers()]
    try:
        arms.branch(node, test, scope)
    except PortError:
        for buffer, value in held:
            buffer.data.copy_(value)
        scope.take_back(start)
        return False
    return True


def folded(buffers: frozenset[str], test: Tensor, node: ast.If, scope: Scope) -> Folded:
    """Return the truth of a test in the run, which the port assumes."""
    answer = bool(test.real)
    text = syntax.text(node.test)
    scope.assume(node.test, text if answer else f"not ({text})")
    for name in buffers:
        scope.run.flags.setdefault(name, scope.place(node))
    return Folded(answer)


def require_unchanged(run: Run, before: Mapping[str, torch.Tensor]) -> None:
    """Raise if the module changes a buffer on which a test of the same run depends."""
    after = tables(run.module)
    run.changed.update(n for n, b in before.items() if n not in after or not same(b, after[n]))
    for name, place in run.flags.items():
        if name in run.changed:
            raise PortError(
                f"the buffer {name!r} decides this branch, and the module changes it, so that the "
                "next call takes the other arm; run the module once before porting, or let both "
                "arms assign tensors of one shape",
                place,
            )
