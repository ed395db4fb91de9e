"""Write `torch.vmap` inside of a module as `jax.vmap` of the same function."""

from __future__ import annotations

import ast
import inspect
from typing import Any

import torch

from jaxgrad.parity.port.calls import hooks
from jaxgrad.parity.port.source import source, syntax
from jaxgrad.parity.port.values.scope import CallSite, Scope
from jaxgrad.parity.port.values.value_types import Folded, Mapped, Tensor, Value
from jaxgrad.parity.port.values.values import code_of, lift, real_of


def vmap(site: CallSite) -> Value:
    """Return the value of `torch.vmap(function, in_dims, out_dims)`."""
    names = list(inspect.signature(torch.vmap).parameters)
    given = dict(zip(names, site.args, strict=False)) | site.keywords
    if given.get("chunk_size", Folded(None)).real is not None:
        raise site.refuse("vmap with chunk_size=; leave it out, which changes the memory only")
    dims = [real_of(given.get(name, Folded(0))) for name in ("in_dims", "out_dims")]
    return Mapped(None, None, site.scope, site.scope.source, {}, given["func"], *dims)


def of_function(function: Any, scope: Scope) -> Mapped | None:
    """Return the value of a Python function that `torch.vmap` made before the run."""
    if getattr(function, "__code__", None) is not _WRAPPER:
        return None
    made = source.free_names(function)
    inner = of_function(made["func"], scope) or Folded(made["func"])
    return Mapped(None, None, scope, scope.source, {}, inner, made["in_dims"], made["out_dims"])


_WRAPPER = torch.vmap(lambda x: x).__code__


def call(
    mapped: Mapped, args: list[Value], keywords: dict[str, Value], scope: Scope, node: ast.AST
) -> Value:
    """Interpret a call of a function under `vmap`: its body runs on one slice of each argument.

    Raises:
        PortError: An argument is not a tensor, or the function returns something else.
    """
    if keywords or not all(isinstance(x, Tensor) for x in args):
        raise scope.refuse("vmap over arguments that are not tensors; pass tensors alone", node)
    written: list[ast.expr] = []

    def body(*slices: torch.Tensor) -> torch.Tensor:
        names = [f"x{n}" for n in range(len(slices))]
        code, result = hooks.traced(mapped.function, list(slices), names, "function", scope, node)
        if not isinstance(result, Tensor):
            raise scope.refuse(
                "vmap of a function that does not return one tensor; return one tensor from it",
                node,
            )
        written[:] = [code]
        return result.real

    real = torch.vmap(body, mapped.in_dims, mapped.out_dims)(*(x.real for x in args))
    options = {}
    if mapped.in_dims != 0:
        options["in_axes"] = syntax.literal(mapped.in_dims)
    if mapped.out_dims != 0:
        options["out_axes"] = syntax.literal(mapped.out_dims)
    function = syntax.call("jax.vmap", written[0], **options)
    return lift(real, ast.Call(function, [code_of(x) for x in args], []))


SPECIAL: dict[Any, Any] = {torch.vmap: vmap}
