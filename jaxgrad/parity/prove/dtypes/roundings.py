"""Compare which values two programs round below float32.

A value may be stored several times: in float32, and cast to bfloat16 for a product. It is rounded
to every dtype below float32 in which either program stores it. Two programs agree about a value
if they round it to the same dtypes, wherever their casts are.
"""

from __future__ import annotations

import functools
from collections.abc import Sequence
from typing import NamedTuple

import jax.numpy as jnp
import numpy as np

from jaxgrad.parity.prove.align.align import Alignment, align
from jaxgrad.parity.prove.record.jax_side.flow import REARRANGES, Flow, leaf_of
from jaxgrad.parity.prove.record.jax_side.native import LOW, NativeValues
from jaxgrad.parity.prove.record.jax_side.program import Key
from jaxgrad.parity.prove.record.torch_side.values import Native, Stored


# These commute with rounding, so a value may be rounded before or after them.
_EXACT = REARRANGES | {
    "abs", "clamp", "concatenate", "dynamic_slice", "dynamic_update_slice", "gather", "max", "min",
    "neg", "pad", "reduce_max", "reduce_min", "rev", "select_n", "slice", "sort", "split",
}  # fmt: skip
_TABLES = 5e-8  # change of a value by a table in float32
_PRODUCTS = ("dot_general", "conv_general_dilated")


class Rounding(NamedTuple):
    """A value that one program rounds to a dtype below float32 and the other does not.

    If `inside` is true, JAX rounds numbers from which it computes the value, and torch does not.
    """

    first: int  # the first of several equal torch values
    value: Stored
    dtype: str
    in_jax: bool  # whether JAX rounds it, and not torch
    key: Key  # JAX's value, as it is rounded or else as it is first computed
    inside: bool = False


class Comparison:
    """torch's and JAX's roundings, matched by the values that are rounded."""

    def __init__(self, torch: Native, jax: NativeValues):
        runs = torch.runs[:1] if len({len(run) for run in torch.runs}) > 1 else torch.runs
        self.torch, self.jax, self.values = torch, jax, runs[0]
        prints = [[value.print for value in run] for run in runs]
        self.alignment = _aligned(prints, jax)
        self.flow = Flow(jax.port.program)
        self.outputs = {key for keys in self.flow.outputs for key in keys}
        self.groups: dict[int, list[int]] = {}  # the first of several equal torch values -> all
        for i, first in enumerate(self.alignment.first):
            if not self.alignment.trivial[i]:
                self.groups.setdefault(first, []).append(i)
        self.group_of: dict[Key, int] = {}
        for first in self.groups:
            for key in self.keys(first):
                self.group_of.setdefault(key, first)

    def name(self, first: int) -> str:
        """Return the name of a parameter, "input", or an empty string for a computed value."""
        names = (self.values[i].name for i in self.groups[first])
        return next(filter(None, names), "")

    def keys(self, first: int) -> list[Key]:
        """Return the JAX values that are equal to a torch value, in program order."""
        spots = (self.jax.spots[k].key for k in self.alignment.matches(first))
        return list(dict.fromkeys(spots))

    def in_torch(self, first: int) -> set[str]:
        """Return the dtypes below float32 to which torch rounds a value."""
        return {self.values[i].dtype for i in self.groups[first]} & set(LOW)

    @functools.cached_property
    def compared(self) -> list[int]:
        """The torch values that are found in JAX and that one of the programs rounds."""
        return [
            first
            for first in self.groups
            if (keys := self.keys(first))
            and (self.in_torch(first) or {self.jax.dtype(key) for key in keys} & set(LOW))
        ]

    def differences(self, cast: tuple[int, str] | None = None) -> list[Rounding]:
        """Return the roundings that only one program has, in torch's order.

        Args:
            cast: A torch value and a dtype to which JAX is supposed to round it too.
        """
        found = []
        for first in self.groups:
            keys, value = self.keys(first), self.values[first]
            if not keys:
                continue
            torch, jax = self.in_torch(first), {self.jax.dtype(key) for key in keys} & set(LOW)
            if cast is not None and cast[0] == first:
                jax.add(cast[1])
            of_torch, of_jax = torch - jax - set(value.fits), jax - torch - self._held(first)
            for dtype in sorted(of_torch | of_jax):
                stored = [key for key in keys if self.jax.dtype(key) == dtype]
                found.append(Rounding(first, value, dtype, dtype in jax, (stored or keys)[0]))
            inside = self._rounded_inside(first, keys)
            if torch >= jax and inside is not None:
                dtype = self.jax.dtype(inside)
                found.append(Rounding(first, value, dtype, True, inside, inside=True))
        return found

    def _held(self, first: int) -> set[str]:
        """Return the dtypes to which torch's numbers can be cast without changing them."""
        return set.intersection(*(set(self.values[i].holds) for i in self.groups[first]))

    def _rounded_inside(self, first: int, keys: Sequence[Key]) -> Key | None:
        """Return the first number that JAX rounds on its way to a value torch computes in float32.

        torch then rounds the value itself, as in a softmax of bfloat16 with dtype=float32.
        """
        if not self.in_torch(first) or not all(self.jax.dtype(key) in LOW for key in keys):
            return None
        if all(self.values[i].dtype in LOW for i in self.groups[first]):
            return None
        between = self.flow.back(self.flow.parents.get(keys[0], ()), set(self.group_of))
        rounded = [
            key
            for key in between
            if leaf_of(key) is None
            and self.jax.dtype(key) in LOW
            and self._primitive(key) not in _EXACT
        ]
        return min(rounded, key=lambda key: self.flow.order[key], default=None)

    def rounds_later(self, rounding: Rounding) -> bool:
        """Whether torch rounds all that JAX makes of a rounded value without computing anew."""
        keys = self.keys(rounding.first)
        todo = [key for key in keys if self.jax.dtype(key) == rounding.dtype]
        own, visited = set(keys), set(todo)
        if not todo:
            return False
        while todo:
            key = todo.pop()
            if key in self.outputs:
                return False
            for child in self.flow.children.get(key, ()):
                group = self.group_of.get(child)
                if child in visited:
                    continue
                visited.add(child)
                if self._primitive(child) not in _EXACT:
                    return False
                if group is None or child in own or not self._rounded(group, rounding.dtype):
                    todo.append(child)
        return True

    def kept_within(self, rounding: Rounding) -> bool:
        """Whether JAX is more precise than torch within one module, and rounds what leaves it.

        A product of rounded operands may also be accumulated and kept in float32.
        """
        if rounding.value.constant or self._wide_product(rounding.key):
            return True
        module = rounding.value.module
        todo = self.keys(rounding.first)
        visited = set(todo)
        while todo:
            key = todo.pop()
            if key in self.outputs:
                return False
            for child in self.flow.children.get(key, ()):
                if child in visited:
                    continue
                visited.add(child)
                if self.jax.dtype(child) in LOW or not self._is_floating(child):
                    continue
                if self._primitive(child) in _PRODUCTS:
                    return False
                group = self.group_of.get(child)
                if group is not None and self._primitive(child) not in _EXACT:
                    inside = self.values[group].module
                    if inside != module and not inside.startswith(f"{module}."):
                        return False
                todo.append(child)
        return True

    def unmatched(self) -> list[Key]:
        """Return the JAX values below float32 that are computed from floats and not found in torch.

        They are in program order.
        """
        floating = {leaf for leaf in self.flow.children if self._is_floating_leaf(leaf)}
        reached = self.flow.ahead(floating, set())
        keys = [k for k in reached if k not in self.group_of and self.jax.dtype(k) in LOW]
        return sorted(keys, key=lambda key: self.flow.order[key])

    def rounded_alone(self) -> list[Key]:
        """Return the unmatched values at which JAX rounds, in program order.

        Others only rearrange or select numbers that were rounded before.
        """
        return [key for key in self.unmatched() if self._rounds(key)]

    def _rounds(self, key: Key) -> bool:
        """Whether an operation computes new numbers below float32, or casts wider ones."""
        inside = self.flow.program.closed
        if key[0] in inside:
            return False
        passes = self._primitive(key) in _EXACT or key[0] not in self.flow.operands
        floats = [p for p in self.flow.parents.get(key, ()) if self._is_floating(p)]
        return not passes or any(self.jax.dtype(p) != self.jax.dtype(key) for p in floats)

    def next_value(self, key: Key) -> Stored | None:
        """Return the first torch value that depends on a JAX value."""
        ahead = [key, *self.flow.ahead([key], set(self.group_of))]
        groups = [self.group_of[k] for k in ahead if k in self.group_of]
        return self.values[min(groups)] if groups else None

    def _rounded(self, group: int, dtype: str) -> bool:
        return dtype in {*self.in_torch(group), *self.values[group].fits}

    def _wide_product(self, key: Key) -> bool:
        """Whether a value is a product of rounded operands, plus a bias, that JAX did not round."""
        while leaf_of(key) is None:
            parents, name = self.flow.parents.get(key, ()), self._primitive(key)
            if name in _PRODUCTS:
                return bool(parents) and all(self.jax.dtype(p) in LOW for p in parents)
            computed = [p for p in parents if not self._of_leaves(p)]
            if len(computed) != 1 or name not in ("add", *_EXACT):
                return False
            key = computed[0]
        return False

    def _of_leaves(self, key: Key) -> bool:
        """Whether a value only rearranges a parameter or an input."""
        while leaf_of(key) is None:
            parents = self.flow.parents.get(key, ())
            if len(parents) != 1 or self._primitive(key) not in _EXACT:
                return False
            key = parents[0]
        return True

    def _primitive(self, key: Key) -> str:
        return self.flow.program.equations[key[0]].primitive.name

    def _is_floating(self, key: Key) -> bool:
        return jnp.issubdtype(jnp.dtype(self.jax.dtype(key)), jnp.inexact)

    def _is_floating_leaf(self, key: Key) -> bool:
        return leaf_of(key) is not None and self._is_floating(key)


def _aligned(prints: Sequence[Sequence[np.ndarray]], jax: NativeValues) -> Alignment:
    """Align torch's values with JAX's; a table that is rounded to float32 changes what follows."""
    exact, rough = (
        align(prints, jax.prints[: len(prints)], jax.spots, np.full(len(prints[0]), noise))
        for noise in (0.0, _TABLES)
    )
    found, more = (sum(map(bool, a.candidates)) for a in (exact, rough))
    return rough if more > found else exact


def representative(roundings: Sequence[Rounding], comparison: Comparison) -> Rounding:
    """Return the rounding that names the place best: of a result or a weight, not of an operand."""
    program = comparison.flow.program

    def is_result(rounding: Rounding) -> bool:
        if not rounding.in_jax:  # torch may round a value later, as an operand of another call
            name = comparison.name(rounding.first)
            computed = comparison.values[rounding.first].dtype == rounding.dtype
            return name not in ("", "input") or computed
        leaf = leaf_of(rounding.key) is not None
        name = "" if leaf else program.equations[rounding.key[0]].primitive.name
        weight = comparison.name(rounding.first) not in ("", "input")
        return weight or not (leaf or name == "convert_element_type")

    return next(filter(is_result, roundings), roundings[0])
