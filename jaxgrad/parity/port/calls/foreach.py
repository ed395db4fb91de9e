"""torch's operators on lists of tensors, such as `torch._foreach_mul_`, which change each of them.

The call is interpreted as the loop that it stands for.
"""

from __future__ import annotations

import ast
from typing import Any

import torch

from jaxgrad.parity.port.source import syntax
from jaxgrad.parity.port.values.scope import CallSite, Special
from jaxgrad.parity.port.values.value_types import Folded, Items, Value


def _loop(method: str) -> Special:
    def call(site: CallSite) -> Value:
        node, scope = site.node, site.scope
        assert isinstance(node, ast.Call)
        if len(node.args) != len(site.args) or not isinstance(site.args[0], Items):
            raise site.refuse(f"this call of _foreach_{method}; write a loop over the tensors")
        taken = {*scope.values, *scope.names}
        lists: dict[str, ast.expr] = {}
        given: list[ast.expr] = []
        for code, value in zip(node.args, site.args, strict=True):
            if isinstance(value, Items):
                name = syntax.unique("other" if lists else "tensor", {*taken, *lists})
                lists[name] = code
                given.append(syntax.name(name))
            else:
                given.append(code)
        targets: list[ast.expr] = [ast.Name(name, ast.Store()) for name in lists]
        target = targets[0] if len(targets) == 1 else ast.Tuple(targets, ast.Store())
        codes = list(lists.values())
        over = codes[0] if len(codes) == 1 else syntax.call("zip", *codes)
        first, *others = given
        change = ast.Call(syntax.attribute(first, method), others, node.keywords)
        loop = ast.For(target, over, [ast.Expr(change)], [])
        scope.run.execute([ast.fix_missing_locations(ast.copy_location(loop, node))], scope)
        for name in lists:
            scope.values.pop(name, None)
        return Folded(None)

    return call


_METHODS = (
    "abs_", "add_", "addcdiv_", "addcmul_", "clamp_max_", "clamp_min_", "copy_", "div_", "exp_",
    "lerp_", "mul_", "neg_", "pow_", "sqrt_", "sub_", "zero_",
)  # fmt: skip
SPECIAL: dict[Any, Special] = {
    getattr(torch, f"_foreach_{name}"): _loop(name)
    for name in _METHODS if hasattr(torch, f"_foreach_{name}")
}  # fmt: skip
