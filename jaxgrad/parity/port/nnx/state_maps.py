"""Write a loop over the tensors of modules as one `jax.tree.map` over their states.

The state of a module is that of its parameters, or of its buffers, or of both::

    target = nnx.state(self.target, nnx.Param)
    online = nnx.state(self.online, nnx.Param)
    target = jax.tree.map(lambda target, online: F.lerp(target, online, 0.1), target, online)
    nnx.update(self.target, target)
"""

from __future__ import annotations

import ast
import copy
import enum
import functools
from collections import Counter
from collections.abc import Sequence

import torch
from torch import nn

from jaxgrad.parity.port.finish.leaf_loops import (
    LeafLoop,
    rewrite_leaf_loops,
    without_gradient,
)
from jaxgrad.parity.port.nnx.modules import Modules
from jaxgrad.parity.port.source import param_paths, syntax
from jaxgrad.parity.port.source.written import Written


class _Filter(enum.Enum):
    """The variables of a module that a loop changes."""

    PARAMETERS = "nnx.Param"
    BUFFERS = "nnx.BatchStat"
    BOTH = "(nnx.Param, nnx.BatchStat)"
    FLOATING = "is_floating"  # a function that the port defines


def with_state_maps(functions: Sequence[Written], modules: Modules) -> list[Written]:
    """Return the functions with maps over states in place of loops over tensors."""
    exact = without_gradient(modules.root)
    for written in functions:
        if isinstance(written.node, ast.FunctionDef) and written.module_paths:
            write = functools.partial(_write, written, modules=modules)
            rewrite_leaf_loops(written.node, write, exact)
    return list(functions)


def _write(written: Written, loop: LeafLoop, *, modules: Modules) -> list[ast.stmt] | None:
    """Return the statements in the place of a loop, or None if it stays as it is."""
    filters = {_filter(module, loop, modules) for module in written.module_paths}
    chosen = next(iter(filters))
    if chosen is None or not loop.read or len(filters) > 1:
        return None
    taken = syntax.all_names(written.node) | set(loop.labels)
    statements: list[ast.stmt] = []
    if chosen is _Filter.FLOATING:
        label = syntax.unique(chosen.value, taken)
        statements.append(_is_floating(label))
        variables: ast.expr = syntax.name(label)
    else:
        variables = ast.parse(chosen.value, mode="eval").body
    for n in loop.read:
        code = syntax.call("nnx.state", copy.deepcopy(loop.trees[n]), copy.deepcopy(variables))
        statements.append(_assign(loop.labels[n], code))
    given: list[ast.expr] = [syntax.name(loop.labels[n]) for n in loop.read]
    before, new = loop.mapped(given, syntax.unique("updated", taken))
    statements += before
    if isinstance(new, ast.Call):
        statements.append(_assign(loop.labels[0], new))
        new = syntax.name(loop.labels[0])
    new = syntax.stopped(new) if loop.is_stopped else new
    update = syntax.call("nnx.update", copy.deepcopy(loop.trees[0]), new)
    return [*statements, ast.Expr(update)]


def _is_floating(name: str) -> ast.stmt:
    """Return the filter of the variables with floating values."""
    source = f"def {name}(_, x):\n    return jnp.issubdtype(x.dtype, jnp.floating)"
    return ast.parse(source).body[0]


def _assign(name: str, code: ast.expr) -> ast.stmt:
    return ast.Assign([ast.Name(name, ast.Store())], code)


def _filter(path: str, loop: LeafLoop, modules: Modules) -> _Filter | None:
    """Return the filter of the variables that a loop changes, or None if there is none.

    Args:
        path: The path of the module whose method the function is.
        loop: The loop.
        modules: The modules of the port.
    """
    paths = [".".join(filter(None, [path, *map(str, param_paths.of(x).path)])) for x in loop.trees]
    try:
        trees = [modules.root.get_submodule(x) for x in paths]
    except AttributeError:
        return None
    forms = [_form(x, modules) for x in paths]
    counts = Counter(map(id, _tensors(modules.root).values()))
    tied = any(counts[id(x)] > 1 for tree in trees for x in _tensors(tree).values())
    own = [x for x in modules.constants if any(x.startswith(f"{y}.") for y in paths)]
    if tied or own or any(x != forms[0] for x in forms):
        return None
    leaves = {".".join(map(str, x)) for x in loop.leaves}
    if not leaves <= set(trees[0].state_dict()):
        return None  # a buffer that is not persistent is a variable of another type
    parameters = {name for name, _ in trees[0].named_parameters()}
    buffers = {name for name, _ in trees[0].named_buffers()}
    if leaves == parameters:
        return _Filter.PARAMETERS
    if leaves == buffers:
        return _Filter.BUFFERS
    if leaves == parameters | buffers:
        return _Filter.BOTH
    floating = {name for name, x in _tensors(trees[0]).items() if x.is_floating_point()}
    return _Filter.FLOATING if leaves == floating else None


def _tensors(module: nn.Module) -> dict[str, torch.Tensor]:
    named = module.named_parameters(remove_duplicate=False)
    return {**dict(named), **dict(module.named_buffers(remove_duplicate=False))}


def _form(path: str, modules: Modules) -> list[tuple[object, ...]]:
    """Return what each part of a module is in torch and in flax, and the shapes of its tensors."""
    root = modules.root.get_submodule(path)
    found: list[tuple[object, ...]] = []
    for name, module in root.named_modules():
        whole = ".".join(filter(None, [path, name]))
        kind = modules.kind(whole) if whole in modules.by_path else "part"
        found.append((name, type(module), kind, whole in modules.sequences))
    return [*found, *((name, x.shape, x.dtype) for name, x in _tensors(root).items())]
