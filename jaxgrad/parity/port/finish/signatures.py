"""Give the parameters of every function one order: params, tensors, constants, `rng`, `training`.

What follows the tensors is passed by name: `attention(p, x, mask, n_heads=2, rng=rng)`.
"""

from __future__ import annotations

import ast
import inspect
from collections.abc import Sequence

from jaxgrad.parity.port.merging.redirection import calls_of, order_keywords, uses_of
from jaxgrad.parity.port.modes.mode_expressions import TRAINING
from jaxgrad.parity.port.source.written import Written
from jaxgrad.parity.port.values import draws


LAST = (draws.RNG, TRAINING)


def with_one_order(functions: Sequence[Written]) -> list[Written]:
    """Return the functions with their keywords, and those of their calls, in one order."""
    for written in functions:
        if isinstance(written.node, ast.FunctionDef):
            if (
                written.base
                and _takes_key(written.node)
                and not _is_passed(written.name, functions)
            ):
                _pass_key_by_name(written, functions)
    return with_ordered_keywords(functions)


def with_ordered_keywords(functions: Sequence[Written]) -> list[Written]:
    """Return the functions with their keywords, and those of their calls, in torch's order."""
    nodes = {w.name: w.node for w in functions if isinstance(w.node, ast.FunctionDef)}
    for written in functions:
        if written.name in nodes:
            _order(nodes[written.name].args, inspect.getfullargspec(written.function))
    for written in functions:
        order_keywords(written.node, nodes)
    return list(functions)


def _order(arguments: ast.arguments, torch: inspect.FullArgSpec) -> None:
    """Order keywords: without a default, with one, `rng`, `training`; in each, as torch does."""
    names = [*torch.args, *torch.kwonlyargs]

    def rank(pair: tuple[ast.arg, ast.expr | None]) -> tuple[int, int]:
        name, default = pair[0].arg, pair[1]
        if name in LAST:
            return 2 + LAST.index(name), 0
        place = names.index(name) if name in names else len(names)
        return (0 if default is None else 1), place

    ordered = sorted(zip(arguments.kwonlyargs, arguments.kw_defaults, strict=True), key=rank)
    arguments.kwonlyargs = [argument for argument, _ in ordered]
    arguments.kw_defaults = [default for _, default in ordered]


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
