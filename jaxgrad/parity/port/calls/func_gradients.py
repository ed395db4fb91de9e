"""Write `torch.func.grad` and its like inside of a module as JAX's transformations."""

from __future__ import annotations

import ast
import inspect
from typing import Any

import torch

from jaxgrad.parity.port.calls import hooks
from jaxgrad.parity.port.source import syntax
from jaxgrad.parity.port.values.scope import CallSite, Scope, Special
from jaxgrad.parity.port.values.value_types import Differentiated, Folded, Items, Tensor, Value
from jaxgrad.parity.port.values.values import code_of, lift, real_of


def _transformation(transform: Any) -> Special:
    def make(site: CallSite) -> Value:
        names = list(inspect.signature(transform).parameters)
        given = dict(zip(names, site.args, strict=False)) | site.keywords
        function = given.pop(names[0])
        argnums = real_of(given.pop("argnums", Folded(0)))
        for name, value in given.items():
            if value.real not in (None, False):
                raise site.refuse(f"torch.func.{transform.__name__} with {name}=; leave it out")
        return Differentiated(None, None, site.scope, None, {}, function, transform, argnums)

    return make


def call(
    gradient: Differentiated, args: list[Value], keywords: dict[str, Value], scope: Scope,
    node: ast.AST,
) -> Value:  # fmt: skip
    """Interpret a call of a function under `torch.func.grad`.

    Raises:
        PortError: An argument is not a tensor, or the function returns something else.
    """
    label = gradient.transform.__name__
    if keywords or not all(isinstance(x, Tensor) for x in args):
        raise scope.refuse(
            f"torch.func.{label} over arguments that are not tensors"
            "; name the tensors with argnums=",
            node,
        )
    written: list[ast.expr] = []

    def body(*parts: torch.Tensor) -> torch.Tensor:
        names = [f"x{n}" if n else "x" for n in range(len(parts))]
        code, result = hooks.traced(gradient.function, list(parts), names, "value", scope, node)
        if not isinstance(result, Tensor):
            raise scope.refuse(
                f"torch.func.{label} of what does not return one tensor"
                "; return one tensor from the function",
                node,
            )
        written[:] = [code]
        return result.real

    real = gradient.transform(body, argnums=gradient.argnums)(*(x.real for x in args))
    options = {"argnums": syntax.literal(gradient.argnums)} if gradient.argnums != 0 else {}
    function = syntax.call(_JAX_NAMES.get(label, f"jax.{label}"), written[0], **options)
    code = ast.Call(function, [code_of(x) for x in args], [])
    value = _swapped if gradient.transform is torch.func.grad_and_value else lift
    return value(real, code)


def _swapped(real: tuple[Any, Any], code: ast.expr) -> Value:
    """Return torch's pair of the gradients and the value; JAX returns the value first."""
    items = [lift(x, syntax.item(code, n)) for x, n in zip(real, (1, 0), strict=True)]
    return Items(tuple, ast.Subscript(code, _REVERSED, ast.Load()), items)


_JAX_NAMES = {"grad_and_value": "jax.value_and_grad"}
_REVERSED = ast.Slice(step=ast.UnaryOp(ast.USub(), ast.Constant(1)))


SPECIAL: dict[Any, Special] = {
    f: _transformation(f)
    for f in (
        torch.func.grad, torch.func.grad_and_value, torch.func.jacrev, torch.func.jacfwd,
        torch.func.hessian,
    )
}  # fmt: skip
