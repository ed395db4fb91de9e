"""Programs for many devices: what they send to each other, read from the compiled program.

Averaging itself needs no helper. Under `jit`, where a batch is sharded, the mean of a loss is that
of all devices, and its gradient is `DistributedDataParallel`'s. In `shard_map` differentiate the
`lax.pmean` of the loss: gradients of what all devices have are added up there by themselves, so
that a `pmean` of them, which is right in `pmap`, is as many times too large as there are devices.
"""

from __future__ import annotations

import dataclasses
import math
import re
from collections import Counter
from collections.abc import Callable, Iterator
from typing import Any

import jax


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
_TURNS = re.compile(r'"known_trip_count":\{"n":"(\d+)"\}')
_ARRAY = re.compile(r"\b([a-z]\w*)\[([\d,]*)\]")
# How a collective names its groups: {{0,1},{2,3}}, [2,2]<=[4], or mesh['x'=2,'y'=2] {'y'}, where
# 'x':(1)2 is a part of an axis; {} is everybody.
_LISTED = re.compile(r"replica_groups=\{\{([\d,]*)\}")
_IOTA = re.compile(r"replica_groups=\[(\d+),(\d+)\]")
_MESH = re.compile(r"replica_groups=mesh\[(.*?)\](?: device_ids=\S+)? *\{(.*?)\}")
_ALL = re.compile(r"replica_groups=\{\}")
_PAIRS = re.compile(r"source_target_pairs=")
_EVERYBODY = re.compile(r"^HloModule.*\b(?:num_partitions|replica_count)=(\d+)")


@dataclasses.dataclass(frozen=True)
class Collective:
    """Operations of one kind among groups of one size, in one run of a program.

    `bytes` are of the whole array, once for each time the operation runs: what is reduced, gathered
    or sent. What a device sends of it, where the group is a ring, is `sent`.
    """

    kind: str
    devices: int
    count: int
    bytes: int

    @property
    def sent(self) -> float:
        """The bytes that each device of a ring sends."""
        share = (self.devices - 1) / self.devices
        turns = {"all-reduce": 2.0, "collective-permute": 1 / share if share else 0.0}
        return turns.get(self.kind, 1.0) * share * self.bytes


def collectives(fun: Callable[..., Any], *args: Any) -> list[Collective]:
    """The collectives of a program as it was compiled, and the bytes that they move.

    An operation in a loop counts as often as the loop turns, where the compiler knows how often; of
    a condition every branch counts.

    Args:
        fun: A function of trees of arrays, jitted with shardings or not.
        *args: What it is compiled for: sharded arrays, or `jax.ShapeDtypeStruct` with `sharding`.

    Returns:
        One `Collective(kind, devices, count, bytes)` for each kind and size of group, by name; none
        where a program runs on one device.

    Raises:
        ValueError: A collective's groups are written in a way that is not known here.

    Example:
        >>> import jax, jax.numpy as jnp
        >>> collectives(lambda x: x.sum(), jnp.ones(4))
        []

    Torch: what `torch.distributed.tensor.debug.CommDebugMode` counts while a program runs.
    """
    jitted: Any = fun if hasattr(fun, "lower") else jax.jit(fun)
    return read_collectives(jitted.lower(*args).compile().as_text() or "")


def read_collectives(text: str) -> list[Collective]:
    """The collectives in the text of a compiled program.

    Args:
        text: `jax.jit(fun).lower(*args).compile().as_text()`, optimized HLO.

    Returns:
        As `collectives`.

    Raises:
        ValueError: A collective's groups are written in a way that is not known here.

    Example:
        >>> text = '''ENTRY %main (x: f32[8]) -> f32[8] {
        ...   ROOT %y = f32[8]{0} all-reduce(%x), replica_groups={{0,1,2,3}}, to_apply=%add
        ... }'''
        >>> read_collectives(text)
        [Collective(kind='all-reduce', devices=4, count=1, bytes=32)]

    Torch: none.
    """
    bodies, entry = _computations(text)
    everybody = _EVERYBODY.match(text)
    counts: Counter[tuple[str, int]] = Counter()
    sizes: Counter[tuple[str, int]] = Counter()

    def visit(name: str, times: int) -> None:
        for line in bodies.get(name, ()):
            found = _OPERATION.search(line)
            if found:
                devices = _devices(line, int(everybody[1]) if everybody else 0)
                if devices > 1:
                    key = found[2], devices
                    counts[key] += times
                    sizes[key] += times * _size(found[1], *key, started=bool(found[3]))
            else:
                turns = _TURNS.search(line)
                for called in _called(line):
                    visit(called, times * (int(turns[1]) if turns else 1))

    visit(entry, 1)
    return [Collective(*key, counts[key], sizes[key]) for key in sorted(counts)]


def _computations(text: str) -> tuple[dict[str, list[str]], str]:
    """The lines of every computation of a module, and the name of the one that it begins with."""
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


def _devices(line: str, everybody: int) -> int:
    """How many devices are in a group; of a permutation two, who sends and who has it."""
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
    if _ALL.search(line) and everybody:
        return everybody
    raise ValueError(
        "a collective does not name its replica_groups in a way that is known here, so that nobody "
        f"knows among how many devices it is: {line.strip()[:200]}"
    )


def _size(shape: str, kind: str, devices: int, *, started: bool) -> int:
    """Bytes of the whole array, by a result's type; operands are in it where it only starts."""
    arrays = [_bytes(*found) for found in _ARRAY.findall(shape)]
    if started and kind != "all-reduce":
        arrays = arrays[len(arrays) // 2 :]
    return sum(arrays) * (devices if kind == "reduce-scatter" else 1)


def _bytes(dtype: str, dims: str) -> int:
    bits = re.search(r"\d+", dtype)
    width = max(1, int(bits[0]) // 8) if bits else 1  # a flag, `pred`, takes a byte
    return width * math.prod(int(n) for n in dims.split(",") if n)
