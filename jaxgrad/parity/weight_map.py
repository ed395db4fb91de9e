"""Infer the weight map of a port, which converts checkpoints and gradients both ways."""

from __future__ import annotations

import warnings
from collections.abc import Callable, Iterable, Mapping
from typing import TYPE_CHECKING, Any

import numpy as np

from jaxgrad._core import argument_names
from jaxgrad._core.copies import copy_to_numpy
from jaxgrad._core.typing import PyTree
from jaxgrad.parity.prove.record.adapters import float64_on_cpu
from jaxgrad.parity.prove.record.jax_side.port import names_of, state_of
from jaxgrad.parity.prove.record.jax_side.program import widened
from jaxgrad.parity.prove.users import ProofError, not_a_module
from jaxgrad.parity.prove.weights import resolve
from jaxgrad.parity.prove.weights.blocks import Block, blocks_of
from jaxgrad.parity.prove.weights.by_name import exchangeable
from jaxgrad.parity.prove.weights.checkpoints import WeightMap
from jaxgrad.parity.prove.weights.map import WeightMap as LeafMap
from jaxgrad.parity.prove.weights.template import Template


if TYPE_CHECKING:
    from torch import nn


@argument_names.spelt
def weight_map(
    module: nn.Module,
    params: PyTree,
    *,
    weights: Callable[..., Any] | Mapping[str, Any] | None = None,
) -> WeightMap:
    """Infer which element of a torch tensor each element of a JAX leaf holds.

    Args:
        module: A `torch.nn.Module`.
        params: The port's params with the same weights: any tree, or a flax nnx or equinox module.
        weights: As for `prove`: a converter, or a dict from torch names to paths. Needed only if
            the weights cannot be matched by value.

    Returns:
        The `WeightMap`. Leaves that are equal constants (zeros, ones) are matched by name; `prove`
        checks them with other weights, and its report has the map as `report.weights`.

    Raises:
        ProofError: A leaf holds no torch tensor.

    Example:
        >>> import torch, jaxgrad
        >>> layer = torch.nn.Linear(3, 2)
        >>> state = {k: v.detach().numpy() for k, v in layer.state_dict().items()}
        >>> params = {"kernel": state["weight"].T, "bias": state["bias"]}
        >>> mapped = jaxgrad.parity.weight_map(layer, params)
        >>> mapped.to_jax(torch.nn.Linear(3, 2).state_dict())["kernel"].shape
        (3, 2)

    Torch: `module.load_state_dict(mapped.to_torch(params))`.
    """
    side: Any = _Weights(module)
    template = Template(params)
    with float64_on_cpu():
        converted, mapped = resolve.weight_map(side, _identity, template.tree, weights)
        if callable(weights):
            template = Template(converted)
        elif exchangeable(mapped):
            warnings.warn(
                "some leaves are equal constants and were matched by name: check the map, or take "
                "the one that prove checks with other weights, report.weights",
                stacklevel=2,
            )
    values = {key: copy_to_numpy(x) for key, x in module.state_dict().items()}
    return from_leaf_map(mapped, side.names, side.flags, template, values)


def from_leaf_map(
    mapped: LeafMap,
    names: Mapping[str, str],
    parameters: Iterable[str],
    template: Template,
    values: Mapping[str, Any],
) -> WeightMap:
    """Return the public map for the map of a proof."""
    blocks: list[Block] = []
    for piece in mapped.pieces:
        path = mapped.paths[piece.leaf]
        blocks += blocks_of(piece, path, mapped.leaves[piece.leaf].shape)
    used = {block.tensor for block in blocks}
    held = set(mapped.names)
    computed = {mapped.paths[i]: n for i, n in (mapped.rule.names if mapped.rule else {}).items()}
    leaves = {b.leaf for b in blocks} | set(computed)
    return WeightMap(
        leaves={
            path: np.shape(x)
            for path, x in zip(mapped.paths, mapped.leaves, strict=True)
            if path in leaves
        },
        tensors={name: mapped.shapes[name] for name in mapped.names if name in used},
        tied={key: name for key, name in names.items() if key != name and name in used},
        blocks=tuple(blocks),
        computed=computed,
        parameters=tuple(parameters),
        others={k: v for k, v in values.items() if names.get(k, k) not in held},
        template=template,
    )


class _Weights:
    """A module's tensors, with the interface that resolving a weight map needs."""

    def __init__(self, module: nn.Module):
        if isinstance(module, type) or not hasattr(module, "named_parameters"):
            raise ProofError(not_a_module(module, "weight_map(module, params)"))
        self.state = {name: widened(x) for name, x in state_of(module).items()}
        self.flags = {name: p.requires_grad for name, p in module.named_parameters()}
        self.names = names_of(module)
        self.module = module

    def state_dict(self, values: Mapping[str, np.ndarray]) -> dict[str, Any]:
        """Return these values as the module's state_dict in float64."""
        import torch

        return {
            key: torch.tensor(values[self.names[key]]) if self.names.get(key) in values else x
            for key, x in self.module.state_dict().items()
        }


def _identity(params: Any, *_: Any) -> Any:
    return params
