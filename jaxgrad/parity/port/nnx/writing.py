"""Turn the functions of a port into flax classes, one for each torch module class."""

from __future__ import annotations

import ast
import dataclasses
from collections import defaultdict
from collections.abc import Mapping, Sequence
from typing import Any

import torch
from flax import nnx
from torch import nn

from jaxgrad.parity.port.finish.lines import shorten
from jaxgrad.parity.port.ir import Helper
from jaxgrad.parity.port.nnx import constructors, layers
from jaxgrad.parity.port.nnx.bodies import EVALUATES, STREAM, Bodies
from jaxgrad.parity.port.nnx.classes import alike, merged
from jaxgrad.parity.port.nnx.instances import Instance
from jaxgrad.parity.port.nnx.iteration import iterated, iteration
from jaxgrad.parity.port.nnx.modules import Modules
from jaxgrad.parity.port.source import syntax
from jaxgrad.parity.port.source.annotations import on_expression
from jaxgrad.parity.port.source.naming import class_docstring
from jaxgrad.parity.port.source.refusals import PortError
from jaxgrad.parity.port.source.written import Written
from jaxgrad.parity.port.values import draws


@dataclasses.dataclass(frozen=True)
class Model:
    """The classes of a port.

    Attributes:
        parts: The classes, the entry first, and then the functions that they call.
        layers: The names of the layers of `jaxgrad.nnx` that they use.
        modules: The modules of the torch module.
        bodies: How functions that call its methods are written.
    """

    parts: list[Written]
    layers: list[str]
    modules: Modules
    bodies: Bodies

    @property
    def takes_mode(self) -> bool:
        """Whether train and eval mode may differ."""
        reads = any(EVALUATES in _own_attributes(w.node) for w in self.parts)
        return reads or any(
            layers.draws(m) or next(m.buffers(), None) is not None
            for p, m in self.modules.by_path.items()
            if self.modules.kind(p) == "layer"
        )


def write_model(
    module: nn.Module,
    functions: Sequence[Written],
    sequences: Mapping[str, list[ast.expr | None]],
    constants: Mapping[str, torch.Tensor],
) -> Model:
    """Return the classes of a port.

    Args:
        module: The torch module.
        functions: The functions of the port.
        sequences: The modules that are called as a whole, with the function of each part.
        constants: The tensors that no state_dict has.

    Raises:
        PortError: flax has no form for a part of the module.
    """
    modules = Modules(module, constants, sequences, methods_of(functions))
    bodies = Bodies(_labels(functions), modules, draws.split_function(functions))
    classes = _classes(modules, bodies, iterated(functions))
    rest = [
        dataclasses.replace(w, node=bodies.function(w))
        for w in functions
        if not w.paths and w.name != draws.SPLIT
    ]
    if any(draws.SPLIT in syntax.names_in(w.node) for w in rest):
        rest += [w for w in functions if w.name == draws.SPLIT]
    parts = [*classes, *rest[::-1]]
    for part in parts:
        _check(part)
    used = sorted(
        {layer for c in classes for n in ast.walk(c.node) if (layer := on_expression(n).layer)}
    )
    return Model(parts, used, modules, bodies)


def methods_of(functions: Sequence[Written]) -> dict[str, list[Written]]:
    """Return the functions that are methods of each module, by its path."""
    methods: dict[str, list[Written]] = defaultdict(list)
    for written in functions:
        for path in written.paths:
            methods[path].append(written)
    return methods


def _labels(functions: Sequence[Written]) -> dict[str, str]:
    """Return the names of the methods; what is called from outside is `__call__`."""
    labels: dict[str, str] = {}
    for written in reversed([w for w in functions if w.paths]):
        beside = [w for w in functions if w.paths & written.paths and w.name in labels]
        taken = {labels[w.name] for w in beside}
        name = written.function.__name__
        label = "__call__" if name == "forward" else name
        if label in taken and label == "__call__":
            label = "forward"
        labels[written.name] = syntax.unique(label, taken)
    return labels


def _classes(modules: Modules, bodies: Bodies, loops: set[str]) -> list[Written]:
    """Return the classes, in the order of the modules; `loops` are the paths of loops."""
    paths = [p for p in modules.by_path if modules.kind(p) == "class"]
    taken = {
        type(modules.by_path[p]).__name__ for p in modules.by_path if modules.kind(p) == "layer"
    }
    root = type(modules.root).__name__
    taken |= {root}
    made: dict[str, ast.Call] = {}
    classes: dict[str, Written] = {}
    for path in sorted(paths, key=modules.level):
        if path in made:
            continue
        level = modules.level(path)
        same = sorted((p for p in paths if modules.level(p) == level), key=modules.height)
        for group in alike([_instance(p, modules, bodies, made, loops) for p in same]):
            first = group[0]
            label = _class_name(first)
            name = root if not first.path else _free(label, taken)
            taken.add(name)
            node, calls = merged(name, group, set(_attributes(first.module)))
            made |= calls
            layers.shortened(node)
            for method in node.body:
                if isinstance(method, ast.FunctionDef) and method.name != "__init__":
                    shorten(method, {}, indent=8)
            classes[first.path] = Written(
                name,
                nn.Module.forward,
                node,
                type(first.module),
                class_docstring(type(first.module), [x.path for x in group], modules.root),
            )
    return [classes[p] for p in modules.by_path if p in classes]


def _instance(
    path: str, modules: Modules, bodies: Bodies, made: Mapping[str, ast.Call], loops: set[str]
) -> Instance:
    own = sorted(modules.methods.get(path, ()), key=lambda w: w.function.__code__.co_firstlineno)
    module, numbers = modules.by_path[path], {}
    methods = [bodies.method(w, numbers, _attributes(module)) for w in own]
    methods.sort(key=lambda m: m.name != "__call__")
    reads = {x for m in methods for x in _own_attributes(m)} & {STREAM, EVALUATES}
    if path in loops:
        methods += iteration(module)
    init = constructors.statements(path, modules, made, reads)
    _check_attributes(module, reads)
    return Instance(path, module, numbers, init, methods)


def _own_attributes(node: ast.AST) -> set[str]:
    """Return the attributes of `self` that a method or a class names."""
    found = [n for n in ast.walk(node) if isinstance(n, ast.Attribute)]
    return {n.attr for n in found if syntax.is_name(n.value, "self")}


def _attributes(module: nn.Module) -> list[str]:
    """Return the names of the tensors and modules that a module holds."""
    return [*module._parameters, *module._buffers, *module._modules]


def _check_attributes(module: nn.Module, reads: set[str]) -> None:
    """Raise if flax uses the name of an attribute for something else."""
    for name in _attributes(module):
        if name in reads or hasattr(nnx.Module, name):
            raise PortError(
                f"{type(module).__name__} has an attribute {name!r}, which is flax's name "
                f'of something else; rename it, or write the port with style="functions"'
            )


def _free(label: str, taken: set[str]) -> str:
    """Return a class name that is not taken: `Block`, else `Block2` and so on."""
    name, number = label, 2
    while name in taken:
        name, number = f"{label}{number}", number + 1
    return name


def _class_name(instance: Instance) -> str:
    """Return torch's name; a sequence of torch's own is named after its attribute."""
    kind = type(instance.module)
    label = instance.path.rpartition(".")[2]
    if kind is nn.Sequential and label.isidentifier():
        return "".join(part.capitalize() for part in label.split("_"))
    return kind.__name__


def _check(written: Written) -> None:
    """Raise if a class still has code for a tree of params."""
    for node in ast.walk(written.node):
        reason = _refused(node)
        if reason:
            raise PortError(
                f'style="nnx" cannot write {reason} in {written.name}; write the port with '
                'style="functions"'
            )


def _refused(node: ast.AST) -> str:
    if isinstance(node, ast.Assign) and syntax.is_name(node.targets[0], "self"):
        own = syntax.calls(node.value, Helper.NNX_CLONE)
        return "" if own else "other values for parameters"
    if isinstance(node, ast.Starred | ast.keyword):
        inner: Any = node.value
        if syntax.is_name(inner, "self"):
            return "the parameters of a module as a dict"
    return ""
