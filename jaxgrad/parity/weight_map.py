"""The weight map of a port: convert checkpoints, gradients and optimizer state both ways."""

from __future__ import annotations

import dataclasses
import json
import pathlib
import re
import sys
import warnings
from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import TYPE_CHECKING, Any

import numpy as np

from jaxgrad._core.copies import copy_to_numpy
from jaxgrad._core.typing import PyTree
from jaxgrad.parity.prove.adapters import float64_on_cpu
from jaxgrad.parity.prove.jax_side.port import names_of, state_of
from jaxgrad.parity.prove.jax_side.program import widened
from jaxgrad.parity.prove.users import ProofError
from jaxgrad.parity.prove.weights import resolve
from jaxgrad.parity.prove.weights.blocks import Block, blocks_of
from jaxgrad.parity.prove.weights.by_name import other_pairings
from jaxgrad.parity.prove.weights.map import WeightMap as LeafMap
from jaxgrad.parity.prove.weights.template import Template


if TYPE_CHECKING:
    from torch import nn

Shape = tuple[int, ...]


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
        elif next(other_pairings(mapped), None) is not None:
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
        tensors={name: np.shape(mapped.tensors[name]) for name in mapped.names if name in used},
        tied={key: name for key, name in names.items() if key != name and name in used},
        blocks=tuple(blocks),
        computed=computed,
        parameters=tuple(parameters),
        others={k: v for k, v in values.items() if names.get(k, k) not in held},
        template=template,
    )


@dataclasses.dataclass(frozen=True, eq=False)
class WeightMap:
    """Which elements of torch's tensors each leaf of a port holds."""

    leaves: Mapping[str, Shape]  # path -> shape
    tensors: Mapping[str, Shape]  # name -> shape
    tied: Mapping[str, str]  # another key of the state_dict -> name of the same tensor
    blocks: tuple[Block, ...]
    computed: Mapping[str, Sequence[str]]  # leaves that only their converter can compute
    parameters: tuple[str, ...]  # in the order of `module.parameters()`
    others: Mapping[str, Any]  # the module's values that no leaf holds; None if not known
    template: Template

    def to_jax(self, state_dict: Mapping[str, Any]) -> PyTree:
        """Return params with the weights of a `state_dict`, of the type given to `weight_map`.

        Args:
            state_dict: torch tensors or arrays by name. An average of the weights (EMA) has the
                same names.

        Raises:
            ValueError: A tensor is missing, unexpected or has a wrong shape.
        """
        self._check_computed()
        values = self._read_state_dict(state_dict)
        leaves: dict[str, np.ndarray] = {}
        for block in self.blocks:
            source = values[block.tensor]
            leaf = leaves.setdefault(block.leaf, np.zeros(self.leaves[block.leaf], source.dtype))
            leaf[block.slices] += source.ravel()[block.positions] * block.scale + block.offset
        return self.template.filled(leaves)

    def to_torch(self, params: PyTree) -> dict[str, Any]:
        """Return the `state_dict` that params hold: `module.load_state_dict` takes it.

        Entries that no leaf holds (counters, tables) have the module's values.

        Raises:
            ValueError: A leaf is missing, unexpected or has a wrong shape, or holds a sum.
        """
        self._check_computed()
        merged = self._merged()
        if merged:
            raise ValueError(
                f"leaf {merged[0].leaf!r} holds a sum of tensors, so {merged[0].tensor!r} cannot "
                "be computed from it; its gradient can, with gradients_to_torch"
            )
        values = {name: np.zeros(shape) for name, shape in self.tensors.items()}
        leaves = self._read_params(params)
        for block in self.blocks:
            x = leaves[block.leaf]
            if x is None or not block.scale:
                continue
            target = values[block.tensor].astype(x.dtype).ravel()
            target[block.positions] = (x[block.slices] - block.offset) / block.scale
            values[block.tensor] = target.reshape(self.tensors[block.tensor])
        values |= {key: values[name] for key, name in self.tied.items()}
        known = {name: x for name, x in self.others.items() if x is not None}
        return {name: _tensor(x) for name, x in {**values, **known}.items()}

    def gradients_to_torch(self, grads: PyTree) -> dict[str, Any]:
        """Return the gradients of the torch tensors: those of all leaves that hold one are added.

        Args:
            grads: A tree like the params. A leaf that is None has no gradient; a tree of another
                type (nnx's `State`) may leave out leaves.
        """
        self._check_computed()
        totals: dict[str, Any] = dict.fromkeys(self.tensors)
        leaves = self._read_params(grads, missing=True)
        for block in self.blocks:
            grad = leaves.get(block.leaf)
            if grad is None:
                continue
            size = int(np.prod(self.tensors[block.tensor]))
            total = totals[block.tensor]
            if total is None:
                total = totals[block.tensor] = np.zeros(size, grad.dtype)
            np.add.at(total, block.positions.ravel(), (grad[block.slices] * block.scale).ravel())
        return {
            name: None if x is None else _tensor(x.reshape(self.tensors[name]))
            for name, x in totals.items()
        }

    def moments_to_jax(self, moments: Mapping[str, Any], power: int = 1) -> dict[str, np.ndarray]:
        """Return an optimizer's averages of gradients by path.

        Args:
            moments: Averages of the gradients of torch's tensors, by name.
            power: 2 for averages of squared gradients.

        Raises:
            ValueError: An element of a tensor is held twice, so its gradient is a sum of two.
        """
        self._check_computed()
        held = {name: np.zeros(int(np.prod(shape)), int) for name, shape in self.tensors.items()}
        for block in self.blocks:
            np.add.at(held[block.tensor], block.positions.ravel(), 1)
        leaves: dict[str, np.ndarray] = {}
        for block in self.blocks:
            if block.tensor not in moments or not block.scale:
                continue
            if np.max(held[block.tensor], initial=0) > 1:
                raise ValueError(
                    f"the params hold {block.tensor!r} more than once, so torch's average of its "
                    "gradient cannot be divided among the leaves"
                )
            x = np.asarray(moments[block.tensor])
            leaf = leaves.setdefault(block.leaf, np.zeros(self.leaves[block.leaf], x.dtype))
            leaf[block.slices] = x.ravel()[block.positions] / block.scale**power
        return leaves

    def to_json(self, path: str | pathlib.Path | None = None) -> str:
        """Return the map as JSON, and write it to `path` if one is given."""
        self._check_computed()
        leaves = {
            leaf: {
                "shape": list(shape),
                "holds": [
                    block.to_dict(shape, self.tensors[block.tensor])
                    for block in self.blocks
                    if block.leaf == leaf
                ],
            }
            for leaf, shape in self.leaves.items()
        }
        record = {
            "format": 1,
            "leaves": leaves,
            "tensors": {name: list(shape) for name, shape in self.tensors.items()},
            "parameters": list(self.parameters),
            "tied": dict(self.tied),
            "others": list(self.others),
        }
        text = _compact(json.dumps(record, indent=1))
        if path is not None:
            pathlib.Path(path).write_text(text)
        return text

    @classmethod
    def from_json(cls, text: str | pathlib.Path, params: PyTree) -> WeightMap:
        """Read the result of `to_json`, or a file of it, for params of the same tree.

        Entries of the state_dict that no leaf holds are not in the file, so `to_torch` leaves them
        out.
        """
        if isinstance(text, pathlib.Path):
            text = text.read_text()
        record = json.loads(text)
        shapes = {name: tuple(shape) for name, shape in record["tensors"].items()}
        leaves = {leaf: tuple(x["shape"]) for leaf, x in record["leaves"].items()}
        blocks = tuple(
            Block.from_dict(leaf, entry, leaves[leaf], shapes)
            for leaf, x in record["leaves"].items()
            for entry in x["holds"]
        )
        others, template = dict.fromkeys(record["others"]), Template(params)
        _check("params", template.leaves, leaves, template.leaves)
        parameters = tuple(record["parameters"])
        return cls(leaves, shapes, record["tied"], blocks, {}, parameters, others, template)

    def _merged(self) -> list[Block]:
        """Return the blocks whose elements are added to those of another block."""
        merged = []
        for leaf, shape in self.leaves.items():
            count = np.zeros(shape, int)
            mine = [block for block in self.blocks if block.leaf == leaf]
            for block in mine:
                count[block.slices] += 1
            merged += [block for block in mine if np.any(count[block.slices] > 1)]
        return merged

    def _read_state_dict(self, state_dict: Mapping[str, Any]) -> dict[str, np.ndarray]:
        given = {key: copy_to_numpy(x) for key, x in state_dict.items()}
        expected = {**self.tensors, **{key: self.tensors[n] for key, n in self.tied.items()}}
        _check("the state_dict", given, expected, self.others)
        for key, name in self.tied.items():
            if not np.array_equal(given[key], given[name], equal_nan=True):
                raise ValueError(f"{name!r} and {key!r} are tied, but their values differ")
        return {name: given[name] for name in self.tensors}

    def _read_params(self, params: PyTree, missing: bool = False) -> dict[str, np.ndarray | None]:
        given = {path: copy_to_numpy(x) for path, x in Template(params).leaves.items()}
        constant = set(self.template.leaves) - set(self.leaves)
        expected = {p: s for p, s in self.leaves.items() if not missing or p in given}
        _check("params", given, expected, constant)
        return {path: given.get(path) for path in self.leaves}

    def _check_computed(self) -> None:
        for leaf, names in self.computed.items():
            raise ValueError(
                f"leaf {leaf!r} is computed from {', '.join(names)} in a way that is not linear: "
                "only the converter itself can do this"
            )


class _Weights:
    """A module's tensors, with the interface that resolving a weight map needs."""

    def __init__(self, module: nn.Module):
        try:
            self.state = {name: widened(x) for name, x in state_of(module).items()}
        except AttributeError:
            raise ProofError(
                f"the first argument is {type(module).__name__}, not a torch.nn.Module"
            ) from None
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


def _check(
    what: str, given: Mapping[str, Any], expected: Mapping[str, Shape], optional: Iterable[str]
) -> None:
    """Compare names and shapes strictly, as torch's `load_state_dict` does."""
    missing = [name for name in expected if name not in given]
    unexpected = [name for name in given if name not in expected and name not in optional]
    wrong = [
        f"{name!r} has shape {list(np.shape(x))} instead of {list(expected[name])}"
        for name, x in given.items()
        if name in expected and np.shape(x) != tuple(expected[name])
    ]
    lines = [f"missing: {', '.join(map(repr, missing[:8]))}"] if missing else []
    lines += [f"unexpected: {', '.join(map(repr, unexpected[:8]))}"] if unexpected else []
    if lines or wrong:
        raise ValueError(f"{what} does not fit the weight map: {'; '.join([*lines, *wrong[:8]])}")


def _tensor(x: Any) -> Any:
    torch: Any = sys.modules.get("torch")  # a user with a torch module has imported torch
    return torch.tensor(x) if torch is not None and isinstance(x, np.ndarray) else x


def _compact(text: str) -> str:
    """Write each list of numbers, and each part of a leaf, in one line."""
    numbers, holds = r"\[[-\d\s,.e+]*\]", r"\{\s+\"tensor\"[^{}]*\}"
    return re.sub(f"{numbers}|{holds}", lambda m: re.sub(r"\s+", " ", m[0]), text)
