"""Count the collectives in a multi-device program by reading its compiled text.

Averaging gradients needs no helper. Under `jit` with a sharded batch, the mean of a loss is taken
over all devices and its gradient is `DistributedDataParallel`'s. In `shard_map`, differentiate the
`lax.pmean` of the loss. With `check_vma=True`, its default, JAX sums the gradients of replicated
parameters there, so that taking the `pmean` of the gradients instead gives n times the mean on n
devices. With `check_vma=False`, as in `pmap`, nothing is summed and the `pmean` of the gradients is
right; the gradient of the `pmean` of the loss is then each device's own.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import jax

from jaxgrad._core.typing import PyTree


KINDS = (
    "all-gather",
    "all-reduce",
    "all-to-all",
    "collective-broadcast",
    "collective-permute",
    "ragged-all-to-all",
    "reduce-scatter",
)
_COMPUTATION = re.compile(r"^(?:ENTRY )?%?([\w.\-]+) .*\{$")
_OPERATION = re.compile(rf"= (.*?) ({'|'.join(KINDS)})(-start)?\(")
_CALLED = re.compile(r"(?:body|calls|to_apply|true_computation|false_computation)=%?([\w.\-]+)")
_BRANCHES = re.compile(r"branch_computations=\{([^}]*)\}")
_TRIP_COUNT = re.compile(r'"known_trip_count":\{"n":"(\d+)"\}')
_ARRAY = re.compile(r"\b([a-z]\w*)\[([\d,]*)\]")
# HLO writes replica groups as {{0,1},{2,3}}, [2,2]<=[4], or mesh['x'=2,'y'=2] {'y'}, where 'x':(1)2
# is a sub-axis; {} means all devices.
_LISTED = re.compile(r"replica_groups=\{\{([\d,]*)\}")
_IOTA = re.compile(r"replica_groups=\[(\d+),(\d+)\]")
_MESH = re.compile(r"replica_groups=mesh\[(.*?)\](?: device_ids=\S+)? *\{(.*?)\}")
_ALL = re.compile(r"replica_groups=\{\}")
_PAIRS = re.compile(r"source_target_pairs=")
_ALL_DEVICES = re.compile(r"^HloModule.*\b(?:num_partitions|replica_count)=(\d+)")


@dataclasses.dataclass(frozen=True)
class Collective:
    """The collectives of one kind and group size in one run of a program.

    `bytes` is the size of the whole reduced, gathered or sent array, summed over all runs of the
    operations. `sent` is the number of bytes that each device sends in a ring algorithm.
    """

    kind: str
    devices: int
    count: int
    bytes: int

    @property
    def sent(self) -> float:
        """Return the number of bytes that each device sends in a ring algorithm."""
        share = (self.devices - 1) / self.devices
        rounds = {"all-reduce": 2.0, "collective-permute": 1 / share if share else 0.0}
        return rounds.get(self.kind, 1.0) * share * self.bytes


def collectives(fun: Callable[..., Any], *args: PyTree) -> list[Collective]:
    """Count the collectives in a compiled program and the bytes that they move.

    An operation in a loop counts once per iteration if the compiler knows the trip count, else
    once. Every branch of a conditional counts.

    Args:
        fun: A function of trees of arrays, which may already be jitted with shardings.
        *args: Arguments to compile for: sharded arrays or `jax.ShapeDtypeStruct` with `sharding`.

    Returns:
        One `Collective(kind, devices, count, bytes)` for each kind and group size, sorted; an empty
        list if the program runs on one device.

    Raises:
        ValueError: The replica groups of a collective cannot be parsed.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> collectives(lambda x: x.sum(), jnp.ones(4))
        []

    Torch: `torch.distributed.tensor.debug.CommDebugMode`, which counts while a program runs.
    """
    jitted: Any = fun if hasattr(fun, "lower") else jax.jit(fun)
    return read_collectives(jitted.lower(*args).compile().as_text() or "")


def read_collectives(text: str) -> list[Collective]:
    """Count the collectives in the text of a compiled program.

    Args:
        text: Optimized HLO: `jax.jit(fun).lower(*args).compile().as_text()`.

    Returns:
        The same list as `collectives`.

    Raises:
        ValueError: The replica groups of a collective cannot be parsed.

    Example:
        >>> text = '''ENTRY %main (x: f32[8]) -> f32[8] {
        ...   ROOT %y = f32[8]{0} all-reduce(%x), replica_groups={{0,1,2,3}}, to_apply=%add
        ... }'''
        >>> read_collectives(text)
        [Collective(kind='all-reduce', devices=4, count=1, bytes=32)]

    Torch: none.
    """
    bodies, entry = _computations(text)
    all_devices = _ALL_DEVICES.match(text)
    counts: Counter[tuple[str, int]] = Counter()
    sizes: Counter[tuple[str, int]] = Counter()

    def visit(name: str, times: int) -> None:
        for line in bodies.get(name, ()):
            operation = _OPERATION.search(line)
            if operation:
                devices = _devices(line, int(all_devices[1]) if all_devices else 0)
                if devices > 1:
                    key = operation[2], devices
                    counts[key] += times
                    sizes[key] += times * _size(operation[1], *key, started=bool(operation[3]))
            else:
                trips = _TRIP_COUNT.search(line)
                for called in _called(line):
                    visit(called, times * (int(trips[1]) if trips else 1))

    visit(entry, 1)
    return [Collective(*key, counts[key], sizes[key]) for key in sorted(counts)]


def _computations(text: str) -> tuple[dict[str, list[str]], str]:
    """Return the lines of every computation of a module, and the name of its entry."""
    bodies: dict[str, list[str]] = {}
    name = entry = ""
    for line in text.splitlines():
        begun = _COMPUTATION.match(line)
        if begun:
            name = begun[1]
            bodies[name] = []
            entry = name if line.startswith("ENTRY") else entry
        elif name:
            bodies[name].append(line)
    return bodies, entry


def _called(line: str) -> Iterator[str]:
    yield from _CALLED.findall(line)
    for branches in _BRANCHES.findall(line):
        yield from (name.strip(" %") for name in branches.split(","))


def _devices(line: str, all_devices: int) -> int:
    """Return the size of a collective's groups; 2 for a permutation: a sender and a receiver."""
    if _PAIRS.search(line):
        return 2
    if listed := _LISTED.search(line):
        return len(listed[1].split(","))
    if iota := _IOTA.search(line):
        return int(iota[2])
    if mesh := _MESH.search(line):
        sizes = dict(re.findall(r"'([^']+)'=(\d+)", mesh[1]))
        axes = re.findall(r"'([^']+)'(?::\(\d+\)(\d+))?", mesh[2])
        return math.prod(int(part or sizes[name]) for name, part in axes)
    if _ALL.search(line) and all_devices:
        return all_devices
    raise ValueError(
        "cannot parse this collective's replica_groups, so its group size is unknown: "
        f"{line.strip()[:200]}"
    )


def _size(shape: str, kind: str, devices: int, *, started: bool) -> int:
    """Return a collective's array size in bytes, without the operands that an async start lists."""
    arrays = [_bytes(*array) for array in _ARRAY.findall(shape)]
    if started and kind != "all-reduce":
        arrays = arrays[len(arrays) // 2 :]
    return sum(arrays) * (devices if kind == "reduce-scatter" else 1)


def _bytes(dtype: str, dims: str) -> int:
    bits = re.search(r"\d+", dtype)
    width = max(1, int(bits[0]) // 8) if bits else 1  # a boolean, `pred`, takes a byte
    return width * math.prod(int(n) for n in dims.split(",") if n)
