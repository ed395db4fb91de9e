"""Operators whose JAX form has torch's values and gradients, which a reader of JAX expects.

`tests/jaxgrad/parity/port/rules/test_equal_forms.py` compares each form with torch, and the table
of conventions of `parity_tests.operators` has the operators whose form differs: those are written
as functions of `jaxgrad.functional`. No gradient flows to integers, so that more forms are equal.
"""

from __future__ import annotations

import ast
from collections.abc import Callable, Mapping
from typing import Any, NamedTuple

import torch

from jaxgrad.parity.port.rules.operation import Operation
from jaxgrad.parity.port.source import syntax
from jaxgrad.parity.port.values.value_types import Tensor
from jaxgrad.parity.port.values.values import code_of


class Form(NamedTuple):
    """JAX's form of an operator.

    Attributes:
        name: The function.
        arguments: torch's arguments in their order, with JAX's names; "" is passed by position.
    """

    name: str
    arguments: Mapping[str, str] = {"input": ""}


_REDUCED = {"input": "", "dim": "axis", "keepdim": "keepdims"}
FORMS = {
    "acos": Form("jnp.arccos"), "acosh": Form("jnp.arccosh"), "asin": Form("jnp.arcsin"),
    "asinh": Form("jnp.arcsinh"), "atan": Form("jnp.arctan"), "atanh": Form("jnp.arctanh"),
    "cosh": Form("jnp.cosh"), "sinh": Form("jnp.sinh"), "tan": Form("jnp.tan"),
    "exp2": Form("jnp.exp2"), "log2": Form("jnp.log2"), "log10": Form("jnp.log10"),
    "sqrt": Form("jnp.sqrt"), "reciprocal": Form("jnp.reciprocal"),
    "erf": Form("jax.scipy.special.erf"), "logsigmoid": Form("jax.nn.log_sigmoid"),
    "softsign": Form("jax.nn.soft_sign"), "mish": Form("jax.nn.mish"),
    "glu": Form("jax.nn.glu", {"input": "", "dim": "axis"}),
    "logsumexp": Form("jax.nn.logsumexp", _REDUCED),
    "roll": Form("jnp.roll", {"input": "", "shifts": "", "dims": "axis"}),
    "flip": Form("jnp.flip", {"input": "", "dims": "axis"}),
    "fliplr": Form("jnp.fliplr"), "flipud": Form("jnp.flipud"), "ravel": Form("jnp.ravel"),
    "rot90": Form("jnp.rot90", {"input": "", "k": "", "dims": "axes"}),
    "outer": Form("jnp.outer", {"input": "", "vec2": ""}),
    "repeat_interleave": Form("jnp.repeat", {"input": "", "repeats": "", "dim": "axis"}),
    "complex": Form("lax.complex", {"real": "", "imag": ""}),
}  # fmt: skip
INTEGER_FORMS = {
    "abs": Form("jnp.abs"), "clamp": Form("jnp.clip", {"input": "", "min": "min", "max": "max"}),
    "maximum": Form("jnp.maximum", {"input": "", "other": ""}),
    "minimum": Form("jnp.minimum", {"input": "", "other": ""}),
}  # fmt: skip


def _rule(form: Form) -> Callable[[Operation], ast.expr | None]:
    def rule(op: Operation) -> ast.expr | None:
        names = list(form.arguments)
        if len(op.args) > len(names) or not set(op.keywords) <= set(names):
            return None
        if op.name in INTEGER_FORMS and not _is_integer(op):
            return None
        if op.name == "repeat_interleave" and isinstance(op.value(1, "repeats"), Tensor):
            return None
        args, keywords = [], {}
        for position, (name, own) in enumerate(form.arguments.items()):
            if not op.has(position, name):
                continue
            if name == "keepdim" and op.get(position, name) is False:
                continue
            code = op.code(position, name)
            args += [] if own else [code]
            keywords |= {own: code} if own else {}
        return syntax.call(form.name, *args, **keywords)

    return rule


def _is_integer(op: Operation) -> bool:
    """Return whether every tensor is an integer, and so is the result."""
    tensors = [x.real for x in (*op.args, *op.keywords.values()) if isinstance(x, Tensor)]
    kinds = (torch.int8, torch.int16, torch.int32, torch.int64)
    return all(x.dtype in kinds for x in (*tensors, op.real))


def _one_hot(op: Operation) -> ast.expr | None:
    """Write the classes as a dtype of integers, which a cast replaces."""
    count = op.value(1, "num_classes")
    if count is None or count.real == -1:
        return None
    return syntax.call("jax.nn.one_hot", op.input, code_of(count), dtype=syntax.dtype("int"))


def _added_product(op: Operation) -> ast.expr | None:
    """Write `torch.addmm(x, a, b)` as `x + a @ b`."""
    if any(name in op.keywords for name in ("alpha", "beta")) or len(op.args) > 3:
        return None
    names = {"addmm": ("mat1", "mat2"), "baddbmm": ("batch1", "batch2"), "addmv": ("mat", "vec")}
    first, second = names[op.name]
    product = ast.BinOp(op.code(1, first), ast.MatMult(), op.code(2, second))
    return ast.BinOp(op.input, ast.Add(), product)


RULES: dict[str, Callable[[Operation], Any]] = {
    **{name: _rule(form) for name, form in (FORMS | INTEGER_FORMS).items()},
    "one_hot": _one_hot, "addmm": _added_product, "baddbmm": _added_product,
    "addmv": _added_product,
}  # fmt: skip
