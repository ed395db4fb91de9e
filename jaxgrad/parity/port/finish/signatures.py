"""Give the parameters of every function one order: params, tensors, constants, `rng`, `training`.

What follows the tensors is passed by name: `attention(p, x, mask, n_heads=2, rng=rng)`.
"""

from __future__ import annotations

import ast
from collections.abc import Sequence

from jaxgrad.parity.port.merging.redirection import calls_of, order_keywords, uses_of
from jaxgrad.parity.port.modes.mode_expressions import TRAINING
from jaxgrad.parity.port.source.written import Written
from jaxgrad.parity.port.values import draws


LAST = (draws.RNG, TRAINING)


def with_one_order(functions: Sequence[Written]) -> list[Written]:
    """Return the functions with their keywords, and those of their calls, in one order."""
    nodes = {w.name: w.node for w in functions if isinstance(w.node, ast.FunctionDef)}
    for written in functions:
        if written.base and written.name in nodes and _takes_key(nodes[written.name]):
            if not _is_passed(written.name, functions):
                _pass_key_by_name(written, functions)
    for node in nodes.values():
        pairs = zip(node.args.kwonlyargs, node.args.kw_defaults, strict=True)
        ordered = sorted(pairs, key=lambda pair: _rank(*pair))
        node.args.kwonlyargs = [argument for argument, _ in ordered]
        node.args.kw_defaults = [default for _, default in ordered]
    for written in functions:
        order_keywords(written.node, nodes)
    return list(functions)


def _rank(argument: ast.arg, default: ast.expr | None) -> int:
    if argument.arg in LAST:
        return 2 + LAST.index(argument.arg)
    return 0 if default is None else 1


def _is_passed(name: str, functions: Sequence[Written]) -> bool:
    """Return whether a function is an argument, as in `jax.checkpoint(block)(p, x, rng)`."""
    return uses_of(name, functions) > len(calls_of(name, functions))


def _takes_key(node: ast.FunctionDef) -> bool:
    return any(a.arg == draws.RNG for a in node.args.args)


def _pass_key_by_name(written: Written, functions: Sequence[Written]) -> None:
    """Let a function take its key as `rng=`."""
    arguments: ast.arguments = written.node.args
    place = [a.arg for a in arguments.args].index(draws.RNG)
    first = len(arguments.args) - len(arguments.defaults)  # the first argument with a default
    default = arguments.defaults.pop(place - first) if place >= first else None
    arguments.kwonlyargs.append(arguments.args.pop(place))
    arguments.kw_defaults.append(default)
    for call in calls_of(written.name, functions):
        if place < len(call.args):
            call.keywords.append(ast.keyword(draws.RNG, call.args.pop(place)))
