"""Write `torch.func.functional_call`: the module's function is called with other params."""

from __future__ import annotations

import ast
import inspect
from collections.abc import Mapping
from typing import Any

import torch
from torch import nn
from torch.nn.utils import stateless

from jaxgrad.parity.port.expressions import indexing
from jaxgrad.parity.port.source import param_paths, syntax
from jaxgrad.parity.port.values.parts import is_numbered
from jaxgrad.parity.port.values.scope import CallSite
from jaxgrad.parity.port.values.value_types import Fields, Folded, Items, Module, Tensor, Value
from jaxgrad.parity.port.values.values import code_of, real_of


def functional_call(site: CallSite) -> Value:
    """Return the value of a call of a module with its tensors replaced."""
    names = list(inspect.signature(torch.func.functional_call).parameters)
    given = dict(zip(names, site.args, strict=False)) | site.keywords
    module, tensors = given["module"], _tensors(given[names[1]], site)
    if not isinstance(module, Module):
        raise site.refuse(
            "functional_call of something that is not a module of this module"
            "; pass the module itself or one of its submodules"
        )
    code = _params(module, tensors)
    if not isinstance(code, ast.Call) and site.scope.run.classes is not None:
        raise site.refuse(
            "functional_call gives a module other parameters, and a flax module holds its own; "
            'write the port with style="functions"'
        )
    if not isinstance(code, ast.Call):
        label = site.scope.fresh(f"{module.path.rpartition('.')[2] or 'module'}_p")
        code = site.scope.assign(label, code)
    new = Module(module.real, code)
    new.path = module.path
    args, keywords = given.get("args", Folded(None)), given.get("kwargs", Folded(None))
    rest = {} if not isinstance(keywords, Fields) else {k: keywords.at(k) for k in keywords.fields}
    reals = {path: x.real for path, x in tensors.items()}
    options = {k: bool(real_of(given[k])) for k in ("tie_weights", "strict") if k in given}
    with stateless._reparametrize_module(module.real, reals, **options):
        return site.scope.run.call(new, _positional(args, site), rest, site.scope, site.node)


def _positional(args: Value, site: CallSite) -> list[Value]:
    if isinstance(args, Items) and args.real is tuple:
        return indexing.iterate(args, site.scope, site.node)
    return [] if args.real is None else [args]


def _tensors(value: Value, site: CallSite) -> dict[str, Tensor]:
    """Return the tensors by their paths; later dicts of a sequence win."""
    parts = value.items if isinstance(value, Items) else [value]
    found: dict[str, Tensor] = {}
    for part in parts:
        if not isinstance(part, Fields):
            raise site.refuse(
                "functional_call takes a dict of tensors by their paths"
                "; write the dict with those paths as its keys"
            )
        for path in part.fields:
            one = part.fields[path] if _is_stopped(part.fields[path]) else part.at(path)
            assert isinstance(one, Tensor)
            found[path] = one
    return found


def _is_stopped(value: Value) -> bool:
    """Return whether a value is a tensor of the params whose gradient is stopped."""
    base = syntax.inside_stop(value.code)
    while isinstance(base, ast.Subscript):
        base = base.value
    return param_paths.is_params(base)


def _params(module: Module, tensors: Mapping[str, Tensor]) -> ast.expr:
    """Return the expression of the params with other tensors in some places."""
    base = code_of(module)
    if {p for p, _ in module.real.named_parameters()} <= set(tensors) and all(
        _stops(x, path, base) for path, x in tensors.items()
    ):
        return syntax.stopped(base)
    return _tree(module.real, base, {path: code_of(x) for path, x in tensors.items()})


def _stops(tensor: Tensor, path: str, base: ast.expr) -> bool:
    return syntax.same(code_of(tensor), syntax.stopped(param_paths.reach(path, base)))


def _tree(module: nn.Module, base: ast.expr, codes: Mapping[str, ast.expr]) -> ast.expr:
    inner = {name: _below(name, codes) for name in module._modules}
    numbered = is_numbered(module)

    def part(name: str, child: Any) -> ast.expr:
        place = syntax.item(base, int(name) if numbered else name)
        return _tree(child, place, inner[name]) if inner[name] else place

    if numbered:
        return ast.List([part(n, m) for n, m in module._modules.items()], ast.Load())
    parts = {name: code for name, code in codes.items() if "." not in name}
    parts |= {n: part(n, m) for n, m in module._modules.items() if inner[n]}
    own = {*module._parameters, *module._buffers}
    with_tensors = {n for n, m in module._modules.items() if m is not None and _has_tensors(m)}
    whole = own | with_tensors <= set(parts)
    keys = [syntax.constant(name) for name in parts]
    if whole:
        return ast.Dict([*keys], [*parts.values()])
    return ast.Dict([None, *keys], [base, *parts.values()])


def _below(name: str, codes: Mapping[str, ast.expr]) -> dict[str, ast.expr]:
    prefix = f"{name}."
    return {p.removeprefix(prefix): c for p, c in codes.items() if p.startswith(prefix)}


def _has_tensors(module: nn.Module) -> bool:
    return any(True for _ in [*module.parameters(), *module.buffers()])


SPECIAL: dict[Any, Any] = {
    torch.func.functional_call: functional_call,
    stateless.functional_call: functional_call,
}
