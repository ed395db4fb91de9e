"""The public weight map, which converts checkpoints, gradients and optimizer state both ways."""

from __future__ import annotations

import dataclasses
import json
import pathlib
import re
import sys
from collections.abc import Iterable, Mapping, Sequence
from typing import Any

import numpy as np

from jaxgrad._core.copies import copy_to_numpy
from jaxgrad._core.typing import PyTree
from jaxgrad.parity.prove.weights import listed
from jaxgrad.parity.prove.weights.blocks import Block
from jaxgrad.parity.prove.weights.template import Template


Shape = tuple[int, ...]


@dataclasses.dataclass(frozen=True, eq=False, repr=False)
class WeightMap:
    """Which elements of torch's tensors each leaf of a port holds; `print` shows it as a table."""

    leaves: Mapping[str, Shape]  # path -> shape
    tensors: Mapping[str, Shape]  # name -> shape
    tied: Mapping[str, str]  # another key of the state_dict -> name of the same tensor
    blocks: tuple[Block, ...]
    computed: Mapping[str, Sequence[str]]  # leaves that only their converter can compute
    parameters: tuple[str, ...]  # in the order of `module.parameters()`
    others: Mapping[str, Any]  # the module's values that no leaf holds; None if not known
    template: Template

    def __str__(self) -> str:
        lines = listed.table(self.leaves, self.tensors, self.blocks, self._merged(), self.computed)
        lines += [f"{key} is tied to {name}" for key, name in self.tied.items()]
        constant = [path for path in self.template.leaves if path not in self.leaves]
        if constant:
            lines.append(f"leaves that hold no tensor: {', '.join(constant)}")
        if self.others:
            lines.append(f"in the state_dict, but in no leaf: {', '.join(self.others)}")
        return "\n".join(lines)

    def __repr__(self) -> str:
        return f"<WeightMap of {len(self.tensors)} tensors and {len(self.leaves)} leaves>"

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
    """Put each list of numbers and each part of a leaf of some JSON text on one line."""
    numbers, holds = r"\[[-\d\s,.e+]*\]", r"\{\s+\"tensor\"[^{}]*\}"
    return re.sub(f"{numbers}|{holds}", lambda m: re.sub(r"\s+", " ", m[0]), text)
