"""Inputs that differ by framework, as given in the arguments of a proof."""

from __future__ import annotations

import dataclasses
from collections.abc import Mapping
from typing import Any

from jaxgrad._core.typing import PyTree


@dataclasses.dataclass(frozen=True)
class PerSide:
    """Inputs for torch and for the port, as images with channels first and last.

    `prove` redraws torch's inputs, and permutes their axes for the port as in these values. If the
    port's values are not a permutation of torch's, both models are compared on these values only.

    Args:
        torch: The inputs of the torch module: a tuple of arrays, or a mapping for named arguments.
            Leave it out for a dump, which contains them.
        jax: The inputs of the port, with the same numbers.

    Example:
        >>> import torch, numpy as np
        >>> from jaxgrad.parity import PerSide, prove
        >>> conv = torch.nn.Conv2d(3, 2, 1)
        >>> params = {k: v.detach().numpy() for k, v in conv.state_dict().items()}
        >>> x = np.linspace(-1, 1, 60).reshape(1, 3, 4, 5)
        >>> inputs = PerSide(torch=(x,), jax=(x.transpose(0, 2, 3, 1),))
        >>> def port(params, x):
        ...     return x @ params["weight"][:, :, 0, 0].T + params["bias"]
        >>> prove(conv, port, params, inputs).verdict
        'pass'
    """

    torch: PyTree = None
    jax: PyTree = None


def as_pair(inputs: Any) -> PerSide | None:
    """Return a pair of two tuples or mappings as inputs for torch and for the port."""
    if isinstance(inputs, PerSide):
        return inputs
    is_pair = type(inputs) in (tuple, list) and len(inputs) == 2
    if is_pair and all(isinstance(x, tuple | list | Mapping) and len(x) for x in inputs):
        return PerSide(*inputs)
    return None
