"""Old ways to make a tensor, such as `torch.LongTensor([1, 2])` and `Variable(x)`."""

from __future__ import annotations

from typing import Any

import torch

from jaxgrad.parity.port.values.scope import CallSite, Special
from jaxgrad.parity.port.values.value_types import Folded, Size, Tensor, TensorMethod, Value
from jaxgrad.parity.port.values.values import real_of


def _constructor(dtype: torch.dtype | None) -> Special:
    """Return how the constructor for a dtype is interpreted; None stands for torch's default."""

    def make(site: CallSite) -> Value:
        chosen = torch.get_default_dtype() if dtype is None else dtype
        if site.keywords or not site.args:
            raise site.refuse("this call of a tensor type is not ported; call torch.tensor")
        first, options = site.args[0], {"dtype": Folded(chosen)}
        is_size = isinstance(first, Size) or isinstance(real_of(first), int | torch.Size)
        if isinstance(first, Tensor):
            return first if first.real.dtype == chosen else _refused(site)
        function = torch.empty if is_size else torch.tensor
        return site.scope.run.call(Folded(function), site.args, options, site.scope, site.node)

    return make


def _refused(site: CallSite) -> Any:
    raise site.refuse("a tensor type is called with a tensor of another dtype; call `.to`")


def _variable(site: CallSite) -> Value:
    """Interpret `Variable(x)`, which is `x.detach()`."""
    first, flag = site.args[0], [*site.args[1:2], *site.keywords.values()]
    if any(x.real is True for x in flag) or not isinstance(first, Tensor):
        raise site.refuse("this call of Variable is not ported; call detach()")
    if not first.real.requires_grad:
        return first
    method = TensorMethod("detach", None, first)
    return site.scope.run.call(method, [], {}, site.scope, site.node)


SPECIAL: dict[Any, Special] = {
    torch.autograd.Variable: _variable,
    torch.Tensor: _constructor(None), torch.FloatTensor: _constructor(torch.float32),
    torch.DoubleTensor: _constructor(torch.float64), torch.HalfTensor: _constructor(torch.float16),
    torch.LongTensor: _constructor(torch.int64), torch.IntTensor: _constructor(torch.int32),
    torch.ShortTensor: _constructor(torch.int16), torch.CharTensor: _constructor(torch.int8),
    torch.ByteTensor: _constructor(torch.uint8), torch.BoolTensor: _constructor(torch.bool),
}  # fmt: skip
