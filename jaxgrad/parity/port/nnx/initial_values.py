"""Write the value with which a variable of a flax class begins: `jnp.full`, `jnp.arange`, ...

The value is that of the torch module when the port is written. Random numbers and tables are
`jnp.empty`, and the docstring of the class says where their values come from.
"""

from __future__ import annotations

import ast
import itertools
from collections.abc import Iterator, Sequence
from typing import Any

import numpy as np
import torch

from jaxgrad.parity.port.ir import Helper, Initial
from jaxgrad.parity.port.source import numbers, syntax
from jaxgrad.parity.port.source.annotations import on_expression


ALONE = 6  # characters of the number of a tensor of one element, which may be random
TABLE = 8  # numbers of a table that is written out
LOADED = "`jaxgrad.nnx.load_state_dict` sets {}, which the constructor leaves as `jnp.empty`."
COPIED = "No state_dict has {}, which the constructor leaves as `jnp.empty`: copy torch's values."


def initial_value(name: str, tensor: torch.Tensor, peers: Sequence[torch.Tensor]) -> ast.expr:
    """Return the array with which a variable begins, or `jnp.empty`.

    Args:
        name: The attribute of the module.
        tensor: Its tensor.
        peers: The tensors of this attribute in all modules of the class, `tensor` among them. They
            have one form, so that the modules can have one flax class.
    """
    sizes = [numbers.label(syntax.constant(n), f"{name}_size") for n in tensor.shape]
    shape: ast.expr = sizes[0] if len(sizes) == 1 else ast.Tuple([*sizes], ast.Load())
    dtype = syntax.literal(tensor.dtype)
    if fills := fill_of(peers):
        return _filled(name, tensor, fills, shape, dtype)
    if tensor.is_complex() or tensor.numel() == 0:
        return _empty(shape, dtype) if tensor.numel() else syntax.call("jnp.zeros", shape, dtype)
    if all(_is_arange(x) for x in peers):
        return _arange(tensor, sizes, dtype)
    for function, own, diagonal in (("jnp.tril", torch.tril, 0), ("jnp.triu", torch.triu, 1)):
        inner = [x[own(torch.ones(x.shape[-2:]), diagonal) == 1] for x in _matrices(peers)]
        same = (_same(own(x, diagonal), x) for x in _matrices(peers))
        if len(inner) == len(peers) and all(same) and (fills := fill_of(inner)):
            code = _filled(name, inner[0], fills, shape, dtype)
            extra = [syntax.constant(diagonal)] if diagonal else []
            return syntax.call(function, code, *extra)
    is_short = 1 < tensor.numel() <= TABLE and not any(map(numbers.is_long, _values(tensor)))
    if is_short and all(_same(tensor, x) for x in peers):
        listed = np.array(_values(tensor), object).reshape(tuple(tensor.shape)).tolist()
        return _of_torch(syntax.call_helper(Helper.ARRAY, syntax.literal(listed), dtype))
    return _empty(shape, dtype)


def _empty(shape: ast.expr, dtype: ast.expr) -> ast.expr:
    code = syntax.call("jnp.empty", shape, dtype)
    on_expression(code).initial = Initial.EMPTY
    return code


def _of_torch(code: ast.expr) -> ast.expr:
    """Return an array whose numbers are those of a torch tensor."""
    on_expression(code).initial = Initial.TORCH
    return code


def fill_of(tensors: Sequence[torch.Tensor]) -> list[Any]:
    """Return the number that each tensor consists of, or nothing if a tensor has another one.

    A number with many digits is more likely trained, or random in a tensor of one element.
    """
    found: list[Any] = []
    for tensor in tensors:
        if tensor.numel() == 0 or not bool((tensor == tensor.flatten()[0]).all()):
            return []
        first = tensor.detach().flatten()[0]
        value = _values(first)[0] if not tensor.is_complex() else first.item()
        digits = len(str(value).lstrip("-")) if isinstance(value, float) else 0
        if numbers.is_long(value) or (tensor.numel() == 1 and digits > ALONE):
            return []
        if tensor.is_complex() and value not in (0, 1):
            return []
        found.append(value)
    return found


def _filled(
    name: str, tensor: torch.Tensor, fills: Sequence[Any], shape: ast.expr, dtype: ast.expr
) -> ast.expr:
    """Return `jnp.zeros`, `jnp.ones` or `jnp.full` of one number."""
    for value, function in ((0, "jnp.zeros"), (1, "jnp.ones")):
        if all(x == value for x in fills):
            return syntax.call(function, shape, dtype)
    (own,) = fill_of([tensor])
    code = numbers.label(syntax.literal(own), f"{name}_init")
    if tensor.ndim == 0:
        return _of_torch(syntax.call_helper(Helper.ARRAY, code, dtype))
    return _of_torch(syntax.call("jnp.full", shape, code, dtype))


def filled_like(name: str, place: ast.expr, own: Any, fills: Sequence[Any]) -> ast.expr:
    """Return an array of one number in the shape of another array, as `_filled` writes it."""
    for value, function in ((0, "jnp.zeros_like"), (1, "jnp.ones_like")):
        if all(x == value for x in fills):
            return _of_torch(syntax.call(function, place))
    number = numbers.label(syntax.literal(own), f"{name}_init")
    return _of_torch(syntax.call("jnp.full_like", place, number))


def _values(tensor: torch.Tensor) -> list[Any]:
    """Return the elements of a tensor, with as few digits as its dtype needs."""
    if tensor.dtype is torch.float32:
        return [float(str(x)) for x in tensor.detach().cpu().numpy().flatten()]
    return tensor.detach().cpu().flatten().tolist()


def _is_arange(tensor: torch.Tensor) -> bool:
    if tensor.ndim == 0 or tensor.numel() != tensor.shape[-1] or tensor.numel() < 3:
        return False
    return tensor.dtype is not torch.bool and _same(
        tensor.flatten(), torch.arange(tensor.numel(), dtype=tensor.dtype)
    )


def _arange(tensor: torch.Tensor, sizes: Sequence[ast.expr], dtype: ast.expr) -> ast.expr:
    code: ast.expr = syntax.call("jnp.arange", sizes[-1], dtype=dtype)
    if tensor.ndim == 1:
        return code
    news: list[ast.expr] = [syntax.constant(None) for _ in range(tensor.ndim - 1)]
    index = news[0] if len(news) == 1 else ast.Tuple(news, ast.Load())
    return ast.Subscript(code, index, ast.Load())


def _matrices(peers: Sequence[torch.Tensor]) -> Iterator[torch.Tensor]:
    """Yield the tensors that are one matrix, under any number of dimensions of size 1."""
    for tensor in peers:
        is_matrix = tensor.ndim > 1 and tensor.numel() == tensor.shape[-1] * tensor.shape[-2]
        if is_matrix and min(tensor.shape[-2:]) > 1:
            yield tensor.detach().cpu().reshape(tensor.shape[-2:])


def _same(one: torch.Tensor, other: torch.Tensor) -> bool:
    return one.shape == other.shape and bool((one.cpu() == other.cpu()).all())


def about_empty(node: ast.ClassDef) -> list[str]:
    """Return the sentences of a class's docstring about the variables that begin without values."""
    loaded, copied = [], []
    for statement in _constructor(node):
        match statement:
            case ast.Assign([ast.Attribute(ast.Name("self"), name)], code):
                is_saved = [
                    not syntax.calls(call, Helper.NNX_CACHE) for call in ast.walk(code)
                    if isinstance(call, ast.Call) and call.args
                    and on_expression(call.args[0]).initial is Initial.EMPTY
                ]  # fmt: skip
                copied += [] if all(is_saved) else [name]
                loaded += [name] if any(is_saved) else []
    pairs = ((LOADED, loaded), (COPIED, copied))
    return [text.format(_listed(names)) for text, names in pairs if names]


def has_constants(node: ast.AST) -> bool:
    """Return whether a constructor has numbers of torch's parameters or of its saved buffers."""
    statements = [list(ast.walk(s)) for s in _constructor(node)]
    saved = [x for x in statements if not any(syntax.calls(n, Helper.NNX_CACHE) for n in x)]
    return any(on_expression(n).initial is Initial.TORCH for x in saved for n in x)


def _constructor(node: ast.AST) -> list[ast.stmt]:
    methods = [n for n in getattr(node, "body", ()) if isinstance(n, ast.FunctionDef)]
    return list(itertools.chain(*(n.body for n in methods if n.name == "__init__")))


def _listed(names: Sequence[str]) -> str:
    quoted = [f"`{name}`" for name in names]
    return quoted[0] if len(quoted) == 1 else f"{', '.join(quoted[:-1])} and {quoted[-1]}"
