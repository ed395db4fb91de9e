"""Write the `__init__` of a class: its tensors, its children, its keys and its ties."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping
from typing import Any

import torch
from torch import nn

from jaxgrad.parity.port.ir import Helper, Initial
from jaxgrad.parity.port.nnx import layers
from jaxgrad.parity.port.nnx.bodies import EVALUATES, STREAM, part
from jaxgrad.parity.port.nnx.initial_values import fill_of, filled_like, initial_value
from jaxgrad.parity.port.nnx.modules import Modules
from jaxgrad.parity.port.source import numbers, syntax
from jaxgrad.parity.port.source.annotations import on_expression, on_statement


def statements(
    path: str, modules: Modules, made: Mapping[str, ast.Call], reads: set[str]
) -> list[ast.stmt]:
    """Return the statements of the `__init__` of a module.

    Args:
        path: Its path.
        modules: All modules.
        made: The call that makes each module below it that has a class, by path.
        reads: The attributes of the class that its methods read.
    """
    own = syntax.name("self")
    body: list[ast.stmt] = []
    for name, tensor in modules.tensors(path).items():
        body.append(_set(own, name, _variable(path, name, tensor, modules)))
    for name, child in modules.children(path).items():
        prefix = f"{path}." if path else ""
        if child != prefix + name:
            continue  # tied
        code = construction(child, modules, made)
        if code is not None:
            body += [_set(own, name, code), *_constants(path, name, modules)]
    if STREAM in reads:
        body.append(_set(own, STREAM, syntax.call("rngs.dropout.fork")))
    if EVALUATES in reads:
        body.append(_set(own, EVALUATES, syntax.name("False")))
    for later, earlier in modules.ties.get(path, {}).items():
        owner, _, name = later.rpartition(".")
        tie = _set(_reach(own, owner, path, modules), name, _reach(own, earlier, path, modules))
        on_statement(tie).trailing = "# tied"
        body.append(tie)
    return body


def _set(owner: ast.expr, name: str, code: ast.expr) -> ast.stmt:
    if name.isidentifier():
        return ast.Assign([ast.Attribute(owner, name, ast.Store())], code)
    return ast.Expr(syntax.call("setattr", owner, syntax.constant(name), code))


def construction(path: str, modules: Modules, made: Mapping[str, ast.Call]) -> ast.expr | None:
    """Return the expression that makes a module, or None if the port does not need it."""
    kind = modules.kind(path)
    if kind == "nothing":
        return None
    if kind == "layer":
        return layers.construction(modules.by_path[path])
    if kind == "class":
        return made[path]
    parts = dict(_parts(path, modules, made))
    if kind == "dict":
        keys: list[ast.expr | None] = [syntax.constant(name) for name in parts]
        return syntax.call_helper(Helper.NNX_DICT, ast.Dict(keys, list(parts.values())))
    if path in modules.sequences:
        return syntax.call_helper(Helper.NNX_SEQUENTIAL, *parts.values())
    return syntax.call_helper(Helper.NNX_LIST, listed(list(parts.values())))


def _parts(
    path: str, modules: Modules, made: Mapping[str, ast.Call]
) -> Iterator[tuple[str, ast.expr]]:
    """Yield the parts of a list or dict of modules or parameters."""
    for name, tensor in modules.tensors(path).items():
        yield name, _variable(path, name, tensor, modules)
    functions = modules.sequences.get(path)
    for number, (name, child) in enumerate(modules.children(path).items()):
        function = None if functions is None else functions[number]
        code = function if isinstance(function, ast.expr) else None
        code = code or construction(child, modules, made)
        yield name, code or syntax.constant(None)


def listed(items: list[ast.expr]) -> ast.expr:
    """Return `[f() for _ in range(3)]` for three equal calls, and else a list."""
    first = items[0] if items else None
    if len(items) < 2 or not isinstance(first, ast.Call):
        return ast.List(items, ast.Load())
    if not all(syntax.same(first, x) for x in items[1:]):
        return ast.List(items, ast.Load())
    count = numbers.label(syntax.constant(len(items)), "count")
    repeated = ast.comprehension(ast.Name("_", ast.Store()), syntax.call("range", count), [], 0)
    return ast.ListComp(first, [repeated])


def _variable(path: str, name: str, tensor: torch.Tensor, modules: Modules) -> ast.expr:
    """Return the variable of a tensor, with the value that it begins with."""
    module: nn.Module = modules.by_path[path]
    code = initial_value(name, tensor, _peers(module, name, modules))
    if modules.persists(path, name):
        is_parameter = name in module._parameters
        return syntax.call("nnx.Param" if is_parameter else "nnx.BatchStat", code)
    if on_expression(code).initial is Initial.EMPTY and tensor.numel() <= syntax.LARGEST:
        values, dtype = syntax.literal(tensor.tolist()), syntax.literal(tensor.dtype)
        code = syntax.call_helper(Helper.ARRAY, values, dtype)
    return syntax.call_helper(Helper.NNX_CACHE, code)


def _peers(module: nn.Module, path: str, modules: Modules) -> list[torch.Tensor]:
    """Return the tensors that all modules of a class have at one path below them."""
    *owners, name = path.split(".")
    found = []
    for other in modules.by_path.values():
        if type(other) is type(module):
            inner: Any = other
            for owner in owners:
                inner = getattr(inner, owner, None)
            found.append(getattr(inner, name, None))
    return [x for x in found if isinstance(x, torch.Tensor)]


def _constants(path: str, name: str, modules: Modules) -> Iterator[ast.stmt]:
    """Yield the statements that fill parameters of the layers that an attribute holds.

    They are for layers whose own parameters begin as random numbers or as another constant. Zeros
    for a bias beside random weights are left out: they matter little, and most authors set them.
    """
    module: nn.Module = modules.by_path[path]
    for below in _layers(path, name, modules):
        layer = module.get_submodule(below)
        for label, tensor in layer._parameters.items():
            if tensor is None or label not in ("weight", "bias"):
                continue
            fills = fill_of(_peers(module, f"{below}.{label}", modules))
            if not fills or all(_begins_as(layer, label, x) for x in fills):
                continue
            place = syntax.attribute(_reach(syntax.name("self"), below, path, modules), label)
            place = ast.Subscript(place, syntax.constant(...), ast.Load())
            code = filled_like(label, place, fill_of([tensor])[0], fills)
            yield ast.Assign([syntax.as_target(place)], code)


def _layers(path: str, name: str, modules: Modules) -> Iterator[str]:
    """Yield the paths, below a module, of the layers that an attribute is or has in lists."""
    prefix = f"{path}." if path else ""
    kind = modules.kind(prefix + name)
    if kind == "layer" and not layers.is_weight_normed(modules.by_path[prefix + name]):
        yield name
    elif kind in ("list", "dict"):
        for child, inner in modules.children(prefix + name).items():
            if inner == f"{prefix}{name}.{child}":
                yield from _layers(path, f"{name}.{child}", modules)


def _begins_as(layer: Any, name: str, value: float) -> bool:
    """Return whether a layer's own constructor gives a parameter this number, or a bias is zero."""
    if isinstance(layer, nn.PReLU):
        return value == layer.init
    if name == "bias":
        return value == 0
    return "Norm" in type(layer).__name__ and value == 1


def _reach(base: ast.expr, below: str, path: str, modules: Modules) -> ast.expr:
    """Return the expression of a part of a module by its path below it."""
    for name in below.split(".") if below else ():
        kind = modules.kind(path) if path in modules.by_path else "class"
        if path in modules.sequences:
            base = syntax.attribute(base, "layers")
        if kind == "list":
            base = syntax.item(base, int(name))
        elif kind == "dict":
            base = syntax.item(base, name)
        else:
            base = part(base, name)
        path = f"{path}.{name}" if path else name
    return base
