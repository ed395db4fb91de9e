"""Write an operator as the function of `jaxgrad.functional` that has its name."""

from __future__ import annotations

import ast
import difflib
import functools
import inspect
from typing import Any

from jaxgrad import functional
from jaxgrad.parity.port.rules.operation import Operation
from jaxgrad.parity.port.source import syntax
from jaxgrad.parity.port.source.annotations import on_expression
from jaxgrad.parity.port.values import draws
from jaxgrad.parity.port.values.lengths import depends_on_sizes
from jaxgrad.parity.port.values.value_types import Tensor, Value
from jaxgrad.parity.port.values.values import code_of, real_of


_DROPPED = ("inplace", "out", "_stacklevel", "layout", "device", "pin_memory", "memory_format")


def write(op: Operation, **extra: ast.expr) -> ast.expr:
    """Return the call of a function with torch's name, without arguments that are its defaults.

    Args:
        op: The call of torch's function.
        extra: Arguments that torch's function does not have, such as the key of a draw.

    Raises:
        PortError: There is no such function, or it lacks an argument.
    """
    function = _find(op.name)
    if function is None:
        near = difflib.get_close_matches(op.name, dir(functional), 1)
        hint = f"the nearest is {near[0]}" if near else "write it with other operators"
        raise op.refuse(f"the operator {op.name} has no counterpart in jaxgrad.functional; {hint}")
    signature = inspect.signature(function)
    bound = _bound(op, signature)
    kept = {
        name: value for name, value in bound.items()
        if not _is_default(value, _default(op.name, name, signature))
    }  # fmt: skip
    whole = _whole_modules(kept) if op.scope.run.classes is None else {}
    call = _written(op.name, signature, kept, whole)
    if "key" not in extra and _draws(bound, signature):
        extra["key"] = draws.key(op.name)
    call.keywords += [ast.keyword(name, code) for name, code in extra.items()]
    return call


def _draws(bound: dict[str, Any], signature: inspect.Signature) -> bool:
    """Return whether a call of our function needs a key: it takes one, and draws in this mode."""
    parameter = signature.parameters.get("key")
    if parameter is None or parameter.kind != parameter.KEYWORD_ONLY:
        return False
    if "_random_samples" in bound and real_of(bound["_random_samples"]) is not None:
        return False
    return all(
        real_of(bound[name]) if name in bound else signature.parameters[name].default
        for name in ("training", "train", "dropout")
        if name in signature.parameters
    )


def _bound(op: Operation, signature: inspect.Signature) -> dict[str, Any]:
    """Return the arguments by our names; options that we lack must have torch's default."""
    args, keywords = op.args, {k: v for k, v in op.keywords.items() if k not in _DROPPED}
    if "value" in keywords and "src" in signature.parameters:  # `x.scatter(dim, index, value=1)`
        keywords["src"] = keywords.pop("value")
    try:
        theirs = inspect.signature(op.function)
    except (TypeError, ValueError):
        theirs = None  # not a Python function
    if theirs is not None and not any(
        p.kind == p.VAR_POSITIONAL for p in theirs.parameters.values()
    ):
        named = theirs.bind(*args, **keywords).arguments
        if "self" in named:
            named = {next(iter(signature.parameters)): named.pop("self"), **named}
        for name in [n for n in named if n not in signature.parameters]:
            value = named.pop(name)
            if not _is_default(value, theirs.parameters[name].default) and name not in _DROPPED:
                raise op.refuse(
                    f"jaxgrad.functional.{op.name} has no argument {name!r}"
                    "; leave it out, or write what it does with other operators"
                )
        args, keywords = [], named
    try:
        return signature.bind(*args, **keywords).arguments
    except TypeError as error:
        raise op.refuse(
            f"jaxgrad.functional.{op.name}: {error}; leave out the argument that it lacks"
        ) from None


@functools.cache
def _find(name: str) -> Any:
    found: Any = functional
    for part in name.split("."):
        found = getattr(found, part, None)
    return found if callable(found) else None


def _default(operator: str, name: str, signature: inspect.Signature) -> Any:
    return _SAME_AS_NONE.get((operator, name), signature.parameters[name].default)


def _is_default(value: Any, default: Any) -> bool:
    if (
        not isinstance(value, Value)
        or isinstance(value, Tensor)
        or default is inspect.Parameter.empty
    ):
        return False
    if depends_on_sizes(value):
        return False
    real = real_of(value)
    if isinstance(real, list | tuple) and isinstance(default, int) and len(real):
        return all(isinstance(x, int) and x == default for x in real)
    both = (type(real), type(default))
    return (both[0] is both[1] or set(both) == {int, float}) and real == default


def _written(
    name: str,
    signature: inspect.Signature,
    kept: dict[str, Any],
    whole: dict[str, ast.keyword],
) -> ast.Call:
    args: list[ast.expr] = []
    keywords: list[ast.keyword] = []
    by_position = True
    for label, parameter in signature.parameters.items():
        if label not in kept:
            by_position = False
            continue
        if label in whole:
            by_position = False
            if not any(k is whole[label] for k in keywords):
                keywords.append(whole[label])
            continue
        if parameter.kind == parameter.VAR_POSITIONAL:
            args += [code_of(x) for x in kept[label]]
            continue
        code = _argument(label, kept[label])
        required = parameter.default is parameter.empty
        if (
            by_position
            and parameter.kind != parameter.KEYWORD_ONLY
            and (required or not _is_option(kept[label]))
        ):
            args.append(code)
        else:
            by_position = False
            keywords.append(ast.keyword(label, code))
    call = syntax.call_functional(name, *args)
    call.keywords = keywords
    return call


def _is_option(value: Any) -> bool:
    return not isinstance(value, Tensor)


_SAME_AS_NONE = {("pad", "value"): 0.0}  # what an argument means that is None by default
_COUNTS = ("scale_factor",)  # torch takes 2 as it takes 2.0
_ONE_FOR_ALL = ("stride", "padding", "dilation", "kernel_size", "output_padding", "output_size")


def _argument(name: str, value: Any) -> ast.expr:
    """Return an argument; a stride of (2, 2) is written as 2."""
    real = real_of(value)
    if name in _COUNTS and type(real) is float and real.is_integer() and value.code is None:
        return syntax.literal(int(real))
    if name in _ONE_FOR_ALL and isinstance(real, tuple) and real and value.code is None:
        if all(type(x) is int and x == real[0] for x in real):
            parts = getattr(value, "items", None)
            if parts is None or callable(parts):
                return syntax.literal(real[0])
            codes = [code_of(x) for x in parts]
            if all(syntax.same(codes[0], x) for x in codes[1:]):
                return codes[0]
    return code_of(value)


def _whole_modules(kept: dict[str, Any]) -> dict[str, ast.keyword]:
    """Return `**p["conv"]` for the tensors of each module that passes all it has by their names."""
    modules: dict[str, dict[str, ast.Subscript]] = {}
    siblings: dict[str, frozenset[str]] = {}
    for name, value in kept.items():
        code = value.code if isinstance(value, Tensor) else None
        part = on_expression(code).part if isinstance(code, ast.Subscript) else None
        if isinstance(code, ast.Subscript) and part is not None and part.name == name:
            if part.siblings is not None:
                modules.setdefault(part.module, {})[name] = code
                siblings[part.module] = part.siblings
    keywords: dict[str, ast.keyword] = {}
    for module, tensors in modules.items():
        if set(tensors) == siblings[module]:
            whole = ast.keyword(None, next(iter(tensors.values())).value)
            on_expression(whole).tensors = siblings[module]
            keywords |= dict.fromkeys(tensors, whole)
    return keywords
