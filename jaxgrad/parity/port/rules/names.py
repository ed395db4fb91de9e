"""torch's operators by name: `linalg.norm` for torch.linalg.norm, `relu` for every relu."""

from __future__ import annotations

import functools
from collections.abc import Mapping
from typing import Any

import torch
import torch.nn.functional

from jaxgrad.parity.port.values.value_types import Value


def of_function(function: Any) -> str | None:
    """Return the name of one of torch's operators, or None for any other callable."""
    try:
        return _names().get(function)
    except TypeError:
        return None  # not hashable


def of_method(name: str) -> str:
    """Return the operator that a method of a tensor calls."""
    bare = name.removesuffix("_") if not name.endswith("__") else name
    if bare in _ALIASES:
        return name.replace(bare, _ALIASES[bare])
    return _METHODS.get(name, name)


def in_torch_words(keywords: Mapping[str, Value]) -> dict[str, Value]:
    """Return keyword arguments under torch's names, which also takes numpy's: `axis` is `dim`."""
    return {_NUMPY_WORDS.get(name, name): value for name, value in keywords.items()}


@functools.cache
def _names() -> dict[Any, str]:
    """Return every operator; the first name found is the one that is kept."""
    found: dict[Any, str] = {}
    spaces = (
        ("", torch.nn.functional), ("", torch), ("linalg.", torch.linalg), ("fft.", torch.fft),
        ("special.", torch.special), ("", vars(torch._C)["_nn"]),
        ("", vars(torch._C)["_VariableFunctions"]),
    )  # fmt: skip
    for prefix, space in spaces:
        for name in sorted(dir(space), key=_is_no_method):  # torch.dsmm is torch.mm
            if name.startswith("_"):
                continue
            value = getattr(space, name)
            if not callable(value) or isinstance(value, type):
                continue
            module = getattr(value, "__module__", "") or ""
            if not (module.startswith("torch") or module == ""):
                continue
            try:
                found.setdefault(value, prefix + _ALIASES.get(name, name))
            except TypeError:
                continue
    found[vars(torch)["_weight_norm"]] = "_weight_norm"
    found[vars(torch)["_softmax_backward_data"]] = "_softmax_backward_data"
    found[vars(torch)["_is_all_true"]] = "all"
    for name in dir(torch.Tensor):
        value = getattr(torch.Tensor, name)
        if callable(value) and not name.startswith("_"):
            found.setdefault(value, of_method(name))
    for function in _NOT_OPERATORS:
        found.pop(function, None)
    return found


def _is_no_method(name: str) -> bool:
    return not hasattr(torch.Tensor, name)


_METHODS = {
    "__getitem__": "getitem", "div": "div", "__add__": "add", "__radd__": "add", "__mul__": "mul",
    "__rmul__": "mul", "__sub__": "sub", "__neg__": "neg", "__truediv__": "div",
    "unfold": "windows",  # torch.nn.functional.unfold is another operator
}  # fmt: skip
_ALIASES = {
    "swapaxes": "transpose", "swapdims": "transpose", "concat": "cat", "concatenate": "cat",
    "greater": "gt", "greater_equal": "ge", "less": "lt", "less_equal": "le", "not_equal": "ne",
    "nelement": "numel",
    "negative": "neg", "absolute": "abs", "sym_sqrt": "sqrt",
}  # fmt: skip
_NUMPY_WORDS = {"axis": "dim", "keepdims": "keepdim"}
_NOT_OPERATORS = (
    torch.no_grad, torch.compile, torch.is_tensor, torch._assert,
    torch.nn.functional.upsample_bilinear, torch.nn.functional.upsample_nearest,  # old names
)  # fmt: skip
