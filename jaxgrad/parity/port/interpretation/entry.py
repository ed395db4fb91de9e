"""Interpret a module on its inputs, and let its entry take the params and every input."""

from __future__ import annotations

import ast
import inspect
import types
from collections.abc import Mapping
from typing import Any

from torch import nn

from jaxgrad.parity.port.interpretation.module_calls import own_call
from jaxgrad.parity.port.merging.tidying import rename_parameters, tidied
from jaxgrad.parity.port.modules import module_hooks
from jaxgrad.parity.port.source import param_paths, syntax
from jaxgrad.parity.port.source.param_paths import PARAMS
from jaxgrad.parity.port.source.port_names import RESERVED, port_name, renames
from jaxgrad.parity.port.source.source import source_of
from jaxgrad.parity.port.source.written import Assumption, Written
from jaxgrad.parity.port.values import ranks
from jaxgrad.parity.port.values.inputs import input_value
from jaxgrad.parity.port.values.scope import Run
from jaxgrad.parity.port.values.top_scope import top_scope
from jaxgrad.parity.port.values.value_types import Folded, Module, Value


def interpret_entry(run: Run, example: Any) -> Written:
    """Interpret the module on its inputs, and return the function that is the entry."""
    module = run.module
    top = top_scope(run, type(module).__name__)
    root = Module(module, param_paths.params())
    named = isinstance(example, Mapping)
    names = list(example) if named else [f"x{n}" for n in range(len(example))]
    values = [
        input_value(name, x, top)
        for name, x in zip(names, example.values() if named else example, strict=True)
    ]
    args, keywords = ([], dict(zip(names, values, strict=True))) if named else (values, {})
    run.finish(run.call(root, args, keywords, top, top.source.node), stateful=top.stateful)
    called = [a.arg for a in run.written[-1].node.args.args]
    run.written[:] = tidied(run.written)
    entry = run.written[-1]
    now = [a.arg for a in entry.node.args.args]  # of the function that does the work
    entry.node.body[:0] = module_hooks.parameter_hooks(top, run.used, top.source.node)
    _take_all(entry, module, named, names, dict(zip(called, now, strict=False)))
    _require_none(entry, values)
    if run.ranks.read:
        _require_ranks(entry, values, run)
    return entry


def _require_none(entry: Written, values: list[Value]) -> None:
    """Let the entry assert that an input which was None in the example is None."""
    for argument, value in zip(entry.node.args.args[1:], values, strict=False):
        if isinstance(value, Folded):
            test = ast.Compare(syntax.name(argument.arg), [ast.Is()], [syntax.constant(None)])
            message = f"this port holds for {argument.arg}=None, as in the example"
            entry.node.body.insert(0, ast.Assert(test, syntax.constant(message)))


def _require_ranks(entry: Written, values: list[Value], run: Run) -> None:
    """Let the entry assert that its inputs have as many dimensions as in the example."""
    source = source_of(_forward(run.module))
    place = source.place(source.node)
    tests = ranks.tests([a.arg for a in entry.node.args.args[1:]], values)
    for test in reversed(tests):
        text = syntax.text(test)
        message = syntax.constant(f"this port holds for {text}, as in the example")
        entry.node.body.insert(0, ast.Assert(test, message))
    run.assumptions.extend(Assumption(place, syntax.text(test)) for test in tests)


def _forward(module: nn.Module) -> types.FunctionType:
    return own_call(module) or module.forward.__func__  # pyright: ignore[reportFunctionMemberAccess, reportReturnType]


def _positions(module: nn.Module, count: int) -> list[str]:
    """Return the names of positional inputs; those of `*xs` are `xs_0`, `xs_1` and so on."""
    parameters = list(inspect.signature(_forward(module)).parameters.values())[1:]
    names = [p.name for p in parameters if p.kind not in (p.VAR_POSITIONAL, p.VAR_KEYWORD)]
    rest = next((p.name for p in parameters if p.kind == p.VAR_POSITIONAL), None)
    if rest is not None:
        at = [p.name for p in parameters].index(rest)
        names = names[:at] + [f"{rest}_{n}" for n in range(count - at)]
    return names[:count]


def _take_all(
    entry: Written, module: nn.Module, named: bool, names: list[str], renamed: dict[str, str]
) -> None:
    """Give the entry every input as a parameter, used or not, after the params.

    Args:
        entry: The entry.
        module: The module.
        named: Whether the inputs are passed by name, and so keep their names.
        names: Their names.
        renamed: The entry's name for each parameter of the module's `forward`.
    """
    if renamed.get(PARAMS, PARAMS) != PARAMS:  # the module is not the first argument
        rename_parameters(entry, {renamed[PARAMS]: PARAMS})
    if named:
        rename_parameters(entry, {new: old for old, new in renamed.items() if new != old != PARAMS})
        renamed = {}
    other = renames(source_of(_forward(module)).node)
    chosen = names if named else _positions(module, len(names))
    wanted = [other.get(name) or port_name(name) for name in chosen]
    wanted = [renamed.get(name, name) for name in wanted]
    if named:  # `input`, which is `x` otherwise, keeps its name
        kept = {
            new: old
            for old, new in zip(names, wanted, strict=True)
            if new != old and old not in RESERVED
        }
        rename_parameters(entry, kept)
        wanted = [kept.get(name, name) for name in wanted]
    have = [a.arg for a in entry.node.args.args]
    others = [name for name in have if name not in (PARAMS, *wanted)]
    entry.take_arguments([ast.arg(name) for name in (PARAMS, *wanted, *others)])
