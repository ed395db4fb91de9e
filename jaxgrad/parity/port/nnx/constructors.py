"""Write the `__init__` of a class: its tensors, its children, its keys and its ties."""

from __future__ import annotations

import ast
from collections.abc import Iterator, Mapping

import torch
from torch import nn

from jaxgrad.parity.port.nnx import layers
from jaxgrad.parity.port.nnx.bodies import EVALUATES, STREAM, part
from jaxgrad.parity.port.nnx.modules import Modules
from jaxgrad.parity.port.source import numbers, syntax
from jaxgrad.parity.port.source.annotations import on_statement


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
            body.append(_set(own, name, code))
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
        return syntax.call("nnx.Dict", ast.Dict(keys, list(parts.values())))
    if path in modules.sequences:
        return syntax.call("nnx.Sequential", *parts.values())
    return syntax.call("nnx.List", listed(list(parts.values())))


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
    turns = ast.comprehension(ast.Name("_", ast.Store()), syntax.call("range", count), [], 0)
    return ast.ListComp(first, [turns])


def _variable(path: str, name: str, tensor: torch.Tensor, modules: Modules) -> ast.expr:
    """Return the variable of a tensor, with the value that it begins with."""
    module: nn.Module = modules.by_path[path]
    kind = "nnx.Cache"
    if modules.persists(path, name):
        kind = "nnx.Param" if name in module._parameters else "nnx.BatchStat"
    shape = [numbers.label(syntax.constant(n), f"{name}_size") for n in tensor.shape]
    shapes: ast.expr = shape[0] if len(shape) == 1 else ast.Tuple([*shape], ast.Load())
    dtype = syntax.literal(tensor.dtype)
    if kind == "nnx.Cache" and tensor.numel() <= syntax.LARGEST:
        return syntax.call(kind, syntax.call("jnp.array", syntax.literal(tensor.tolist()), dtype))
    others = [m for m in modules.by_path.values() if type(m) is type(module)]
    return syntax.call(kind, syntax.call(_start(name, others), shapes, dtype))


def _start(name: str, modules: list[nn.Module]) -> str:
    """Return the function that makes a tensor: zeros or ones if all modules of the class agree."""
    tensors = [x for m in modules if isinstance(x := getattr(m, name, None), torch.Tensor)]
    for value, function in ((0, "jnp.zeros"), (1, "jnp.ones")):
        if all(bool((x == value).all()) for x in tensors):
            return function
    return "jnp.empty"


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
