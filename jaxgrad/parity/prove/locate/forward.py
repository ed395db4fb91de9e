"""Locate where the forward passes diverge: the first torch value that JAX does not compute."""

from __future__ import annotations

from collections.abc import Callable, Container, Iterable, Mapping, Sequence, Set
from typing import NamedTuple

import numpy as np

from jaxgrad.parity.prove.align.align import Alignment
from jaxgrad.parity.prove.align.fingerprint import is_mask
from jaxgrad.parity.prove.record.jax_side.flow import Flow, leaf_key, leaf_of
from jaxgrad.parity.prove.record.jax_side.program import JaxProgram, Key
from jaxgrad.parity.prove.record.torch_side.values import MOVES, TorchRun
from jaxgrad.parity.prove.weights.map import WeightMap


ROOT = "(root)"  # name of the outermost module
_TAKES = ("getitem", "select", "unbind", "split", "chunk")
_REARRANGES = ("broadcast_in_dim", "reshape", "squeeze", "transpose")
INNER_GRADIENT = "grad"  # the call of torch.autograd.grad
REPEATS = ("expand", "expand_as", "broadcast_to", "repeat", "tile")


def lost_in_torch(run: TorchRun, alignment: Alignment, wrong: Sequence[int]) -> list[int]:
    """Return the unmatched torch values that wrong outputs depend on, in order.

    Args:
        run: torch's run.
        alignment: The alignment of torch's values with JAX's.
        wrong: Positions of the wrong outputs among torch's values.
    """
    objectives = _objectives(run)  # which a port that takes the gradient need not compute
    region: set[int] = set()
    todo = list(wrong)
    while todo:
        i = todo.pop()
        value = run.values[i]
        known = alignment.visible(i) or value.op == "input"
        if i in region or (known and i not in wrong):
            continue
        if i in wrong or not (value.op in REPEATS or i in objectives):
            region.add(i)  # the elements of a repetition are those of its source
        moved = value.op in MOVES and i in alignment.shuffled  # JAX has its operands' elements
        todo += [k for k in value.inputs if not moved or k in alignment.shuffled]
    return sorted(region)


def _objectives(run: TorchRun) -> set[int]:
    """Return the values that only inner gradients read, which differentiate them."""
    readers: dict[int, set[str]] = {}
    for i, value in enumerate(run.values):
        for k in value.inputs:
            if k != i:
                readers.setdefault(k, set()).add(value.op)
    return {k for k, ops in readers.items() if ops == {INNER_GRADIENT}}


def origins(
    run: TorchRun, alignment: Alignment, region: Sequence[int], mapped: Set[str]
) -> list[int]:
    """Return the values where the divergence begins: unmatched, but with all inputs matched.

    Values computed only from integers or constants (a mask, a rotary table) are poor candidates,
    because a port may compute them differently. So are values that rounding changes too much to be
    recognised in JAX.
    """
    inside = {i for i in region if not (alignment.noisy and alignment.noisy[i])} or set(region)
    variable = depending(run, mapped)
    candidates: set[int] = set()
    for i in sorted(inside):
        value = run.values[i]
        reads = [k for k in _reads(run, i) if k != i]
        if i in variable and (
            set(value.weights) & mapped
            or any(k in candidates or (k not in inside and not alignment.trivial[k]) for k in reads)
        ):
            candidates.add(i)
    return _sources(run, candidates) or _sources(run, inside)


def rows_of_scans(run: TorchRun, alignment: Alignment, program: JaxProgram) -> set[int]:
    """Return the elements that torch takes of matched values, if the port has a `lax.scan`.

    A scan takes them too, but without an equation.
    """
    if not any(eqn.primitive.name == "scan" for eqn in program.equations.values()):
        return set()

    def known(i: int) -> bool:
        return run.values[i].op == "input" or alignment.visible(i)

    return {
        i
        for i, value in enumerate(run.values)
        if value.op in _TAKES and value.inputs and all(map(known, value.inputs))
    }


def depending(run: TorchRun, mapped: Container[str]) -> set[int]:
    """Return the values that depend on an input or one of the port's weights (not constants)."""
    variable: set[int] = set()
    for i, value in enumerate(run.values):
        if (
            value.op == "input"
            or any(name in mapped for name in value.weights)
            or any(k in variable for k in value.inputs if k != i)
        ):
            variable.add(i)
    return variable


def _sources(run: TorchRun, chosen: set[int]) -> list[int]:
    """Return the chosen values that do not read another chosen value."""
    return sorted(i for i in chosen if not chosen & set(_reads(run, i)) - {i})


def _reads(run: TorchRun, i: int) -> list[int]:
    """Return the values that a call read, and for a repetition the values that it repeats."""
    reads: list[int] = []
    for k in run.values[i].inputs:
        source = run.values[k]
        repeats = source.op in REPEATS and source.inputs and k != i
        reads += _reads(run, k) if repeats else [k]
    return reads


def module_of(run: TorchRun, starts: Sequence[int]) -> str:
    """Return the module of the origins, or the common parent of several sibling modules."""
    first = run.values[starts[0]].module
    parent = first.rpartition(".")[0]
    siblings = {run.values[i].module for i in starts}
    siblings = {name for name in siblings if name.rpartition(".")[0] == parent and name != parent}
    return parent if len(siblings) > 1 and parent else first


class LostRegion(NamedTuple):
    """The lost JAX values: wrong outputs depend on them, and they do not occur in torch."""

    flow: Flow
    region: set[Key]
    matched: Callable[[int], set[Key]]  # torch value -> the JAX values equal to it
    rearranged: Mapping[Key, Key] = {}  # values that only rearrange a weight -> the weight

    def first(self, operands: Iterable[Key]) -> list[Key]:
        """Return the lost values that read one of `operands` but no lost value, in order."""
        operands = set(operands)
        operands |= {key for key, weight in self.rearranged.items() if weight in operands}
        parents = self.flow.parents
        keys = [k for k in self.region if leaf_of(k) is None and operands & set(parents[k])]
        keys = [k for k in keys if not self.region & set(parents[k])]
        return sorted(keys, key=lambda key: self.flow.order[key])

    def in_order(self) -> list[Key]:
        """Return all lost values in program order."""
        keys = [key for key in self.region if leaf_of(key) is None]
        return sorted(keys, key=lambda key: self.flow.order[key])


def lost_in_jax(flow: Flow, alignment: Alignment, wrong: Sequence[Key]) -> LostRegion:
    """Return the unmatched JAX values that the wrong outputs depend on."""
    known = alignment.known_in_each_iteration

    def matched(i: int) -> set[Key]:
        return {alignment.spots[k].key for k in alignment.matches(i)}

    region: set[Key] = set()
    rearranged: dict[Key, Key] = {}
    # Values that depend on no weight and on no matched value (indices, masks) are left out.
    for key in sorted(flow.back(wrong, known - set(wrong)), key=lambda k: flow.order.get(k, -1)):
        parents = flow.parents.get(key, ())
        weights = [rearranged.get(p, p) for p in parents]
        if key not in wrong and len(weights) == 1 and _is_weight(flow, weights[0]):
            if flow.program.equations[key[0]].primitive.name in _REARRANGES:
                rearranged[key] = weights[0]
                continue
        if any(p in known or p in region or _is_weight(flow, p) for p in weights):
            region.add(key)
    return LostRegion(flow, region, matched, rearranged)


def _is_weight(flow: Flow, key: Key) -> bool:
    """Whether a key denotes a floating leaf."""
    leaf = leaf_of(key)
    return leaf is not None and np.issubdtype(flow.program.leaves[leaf].dtype, np.inexact)


def operands(run: TorchRun, lost: LostRegion, weights: WeightMap, i: int) -> set[Key]:
    """Return the JAX values and leaves that correspond to the operands of a torch value."""
    value, program = run.values[i], lost.flow.program
    keys = {key for k in value.inputs for key in lost.matched(k)}
    numbers = range(len(program.params), len(program.leaves))
    inputs = [k for k in numbers if np.issubdtype(program.leaves[k].dtype, np.inexact)]
    keys |= {leaf_key(inputs[k]) for k in value.inputs if run.values[k].op == "input"}
    return keys | {leaf_key(leaf) for name in value.weights for leaf in weights.leaves_of(name)}


def rank(run: TorchRun, alignment: Alignment, lost: LostRegion, weights: WeightMap, i: int) -> int:
    """Return 0 if JAX computes an origin from the same operands, but otherwise; or else more.

    A correct port may lack a torch value, for example if it adds a mask elsewhere. In that
    case, every JAX consumer of the same operands also reads an unmatched value, which is 2. Its
    mask may also hold other large numbers; then the torch value reads a constant that does not
    occur in JAX, which is 1. If operands are computed and no lost value depends on them, the port
    cannot compute the torch value elsewhere, which is 0. If all operands in JAX are masks, they may
    equal torch's by chance, which is 2.
    """
    read = operands(run, lost, weights, i)
    value = run.values[i]
    equal = [run.values[k].print for k in value.inputs if k != i and alignment.matches(k)]
    if equal and not value.weights and all(map(is_mask, equal)):
        return 2
    computed = any(leaf_of(key) is None for key in read)
    if computed and not lost.region & lost.flow.ahead(read, _unread(run, alignment)):
        return 0
    if not lost.first(read):
        return 1 if _reads_other_constant(run, alignment, lost, weights, i) else 2
    others = (k for k in _reads(run, i) if k != i and run.values[k].op != "input")
    return int(not all(map(alignment.visible, others)))


def _reads_other_constant(
    run: TorchRun, alignment: Alignment, lost: LostRegion, weights: WeightMap, i: int
) -> bool:
    """Whether a torch value reads a constant that JAX computes otherwise from a value of both.

    Such a constant is the number of edges of each node, which depends on integers alone.
    """
    variable = depending(run, set(weights.names))

    def lacking(k: int) -> list[int]:
        reads = (j for j in run.values[k].inputs if j != k)
        return [j for j in reads if j not in variable and not alignment.visible(j)]

    todo = lacking(i)
    for k in todo:
        if lost.first(operands(run, lost, weights, k)):
            return True
        todo += [j for j in lacking(k) if j not in todo]
    return False


def _unread(run: TorchRun, alignment: Alignment) -> set[Key]:
    """Return the JAX values that torch computes too, but neither reads nor returns."""
    used = {k for i, value in enumerate(run.values) for k in value.inputs if k != i}
    used |= {i for i in run.output_values if i is not None}

    def keys(numbers: Iterable[int]) -> set[Key]:
        return {alignment.spots[k].key for i in numbers for k in alignment.matches(i)}

    return keys(i for i in range(len(run.values)) if i not in used) - keys(used)


def hidden(run: TorchRun, alignment: Alignment) -> list[str]:
    """Return the modules whose outputs do not occur in the JAX program."""
    return list(
        dict.fromkeys(
            call.module or ROOT
            for call in run.calls
            if call.outputs and not any(alignment.visible(i) for i in call.outputs)
        )
    )
