"""The constructors of torch's tensor types, such as `torch.LongTensor([1, 2])`."""

from __future__ import annotations

from typing import Any

import torch

from jaxgrad.parity.port.values.kinds_of_values import Folded, Size, Tensor, Value
from jaxgrad.parity.port.values.scope import CallSite, Special
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


SPECIAL: dict[Any, Special] = {
    torch.Tensor: _constructor(None), torch.FloatTensor: _constructor(torch.float32),
    torch.DoubleTensor: _constructor(torch.float64), torch.HalfTensor: _constructor(torch.float16),
    torch.LongTensor: _constructor(torch.int64), torch.IntTensor: _constructor(torch.int32),
    torch.ShortTensor: _constructor(torch.int16), torch.CharTensor: _constructor(torch.int8),
    torch.ByteTensor: _constructor(torch.uint8), torch.BoolTensor: _constructor(torch.bool),
}  # fmt: skip
