"""Count the bytes that a training step communicates, as a function of the number of devices.

    python -m parity_tests.audits.collectives --markdown docs/distributed.md

The counts are read from programs compiled for 2, 4 and 8 devices. Lines fitted to these counts are
checked against the program for 64 devices. No program is run.
"""

from __future__ import annotations

import argparse
import dataclasses
import functools
import pathlib
from collections.abc import Callable, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
from jax import lax
from jax.sharding import Mesh, NamedSharding
from jax.sharding import PartitionSpec as P

from jaxgrad._core import compat
from jaxgrad.distributed import Collective, collectives


COUNTS = (2, 4, 8)
CHECK = 64
MANY = (8, 64, 1024, 4096)  # device counts of the extrapolation
LAYERS, WIDTH, ROWS = 3, 64, 16  # each device has ROWS rows of the batch
MICRO = 4  # micro-batches per accumulated step
AXIS = "ranks"


class StepProgram(NamedTuple):
    """A training step, and the sharding of its parameters: replicated, or sharded by rows."""

    about: str
    make: Callable[[Mesh], Callable[..., Any]]
    params: P
    micro: bool = False


def _loss(params: Sequence[Any], x: Any, y: Any) -> Any:
    for layer in params:
        x = jnp.tanh(x @ layer["w"] + layer["b"])
    return jnp.mean((x - y) ** 2)


def _sync_loss(params: Sequence[Any], x: Any, y: Any) -> Any:
    for layer in params:
        h = x @ layer["w"]
        mean = lax.pmean(h.mean(0), AXIS)
        var = lax.pmean(((h - mean) ** 2).mean(0), AXIS)
        x = jnp.tanh((h - mean) * lax.rsqrt(var + 1e-5) + layer["b"])
    return jnp.mean((x - y) ** 2)


def _gathered(shards: Any) -> Any:
    return jax.tree.map(lambda w: lax.all_gather(w, AXIS, tiled=True), shards)


def _stepped(params: Any, grads: Any) -> Any:
    return jax.tree.map(lambda p, g: p - 0.1 * g, params, grads)


def _step(loss: Callable[..., Any]) -> Callable[..., Any]:
    return lambda params, x, y: _stepped(params, jax.grad(loss)(params, x, y))


def _by_sharding(mesh: Mesh) -> Callable[..., Any]:
    del mesh  # the arguments carry their sharding
    return _step(_loss)


def _mapped(params: P, step: Callable[..., Any]) -> Callable[[Mesh], Callable[..., Any]]:
    def make(mesh: Mesh) -> Callable[..., Any]:
        rows = P(AXIS)
        return jax.shard_map(step, mesh=mesh, in_specs=(params, rows, rows), out_specs=params)

    return make


def _mean_of(loss: Callable[..., Any]) -> Callable[..., Any]:
    return lambda *args: lax.pmean(loss(*args), AXIS)


def _fsdp(params: Any, x: Any, y: Any) -> Any:
    def loss(params: Any) -> Any:
        return _loss(_gathered(params), x, y) / lax.axis_size(AXIS)

    return _stepped(params, jax.grad(loss)(params))


def _fsdp_again(params: Any, x: Any, y: Any) -> Any:
    """Take a step that gathers each layer before its use, and again in the backward pass."""

    @functools.partial(jax.checkpoint, prevent_cse=True)
    def apply(layer: Any, x: Any) -> Any:
        whole = _gathered(layer)
        return jnp.tanh(x @ whole["w"] + whole["b"])

    def loss(params: Any) -> Any:
        h = x
        for layer in params:
            h = apply(layer, h)
        return jnp.mean((h - y) ** 2) / lax.axis_size(AXIS)

    return _stepped(params, jax.grad(loss)(params))


def _no_sync(params: Any, x: Any, y: Any) -> Any:
    own = jax.tree.map(lambda p: compat.vary(p, frozenset([AXIS])), params)

    def add(total: Any, batch: Any) -> Any:
        return jax.tree.map(jnp.add, total, jax.grad(_loss)(own, *batch)), None

    zeros = jax.tree.map(jnp.zeros_like, own)
    total, _ = lax.scan(add, zeros, (_micro(x), _micro(y)))
    return _stepped(params, jax.tree.map(lambda g: lax.pmean(g / MICRO, AXIS), total))


def _each_sync(params: Any, x: Any, y: Any) -> Any:
    def add(total: Any, batch: Any) -> Any:
        return jax.tree.map(jnp.add, total, jax.grad(_mean_of(_loss))(params, *batch)), None

    total, _ = lax.scan(add, jax.tree.map(jnp.zeros_like, params), (_micro(x), _micro(y)))
    return _stepped(params, jax.tree.map(lambda g: g / MICRO, total))


def _micro(rows: Any) -> Any:
    return rows.reshape(MICRO, -1, WIDTH)


PROGRAMS = {
    "DDP, `jit`": StepProgram("sharded batch, replicated parameters", _by_sharding, P()),
    "DDP, `shard_map`": StepProgram(
        "the gradient of `pmean(loss)`", _mapped(P(), _step(_mean_of(_loss))), P()
    ),
    "DDP, accumulated": StepProgram(
        f"{MICRO} micro-batches, each reduced", _mapped(P(), _each_sync), P()
    ),
    "DDP, `no_sync`": StepProgram(
        f"{MICRO} micro-batches, summed locally and reduced once", _mapped(P(), _no_sync), P()
    ),
    "SyncBatchNorm": StepProgram(
        f"DDP with {LAYERS} batch norms over the global batch",
        _mapped(P(), _step(_mean_of(_sync_loss))),
        P(),
    ),
    "FSDP, `shard_map`": StepProgram(
        "sharded parameters, gathered once and kept", _mapped(P(AXIS), _fsdp), P(AXIS)
    ),
    "FSDP, gathered again": StepProgram(
        "sharded parameters; `jax.checkpoint` asks to gather them again in the backward pass",
        _mapped(P(AXIS), _fsdp_again),
        P(AXIS),
    ),
    "FSDP, `jit`": StepProgram(
        "sharded batch and parameters; XLA's own choice on CPU", _by_sharding, P(AXIS)
    ),
}


def compiled(program: StepProgram, devices: int) -> list[Collective]:
    """Compile a step for the given number of devices and return its collectives."""
    mesh = Mesh(jax.devices("cpu")[:devices], (AXIS,), axis_types=(jax.sharding.AxisType.Auto,))

    def array(spec: P, *shape: int) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct(shape, jnp.float32, sharding=NamedSharding(mesh, spec))

    layer = {"w": array(program.params, WIDTH, WIDTH), "b": array(program.params, WIDTH)}
    rows = array(P(AXIS), devices * ROWS, WIDTH)
    step = jax.jit(program.make(mesh), out_shardings=None)
    return collectives(step, [layer] * LAYERS, rows, rows)


@dataclasses.dataclass(frozen=True)
class Law:
    """How one kind of collective grows: count and bytes are pairs (a, b) for a + b * devices."""

    kind: str
    count: tuple[float, float]
    bytes: tuple[float, float]

    def of(self, devices: int) -> Collective:
        count, size = (round(at + slope * devices) for at, slope in (self.count, self.bytes))
        return Collective(self.kind, devices, count, size)


def laws(by_count: dict[int, list[Collective]]) -> list[Law] | None:
    """Fit lines through the collectives at `COUNTS`; return None if their growth is not linear."""
    kinds = [[(c.kind, c.devices == n) for c in by_count[n]] for n in COUNTS]
    if any(k != kinds[0] or not all(whole for _, whole in k) for k in kinds):
        return None
    fitted = []
    for place, (kind, _) in enumerate(kinds[0]):
        measurements = [by_count[n][place] for n in COUNTS]
        lines = [_line([c.count for c in measurements]), _line([c.bytes for c in measurements])]
        if lines[0] is None or lines[1] is None:
            return None
        fitted.append(Law(kind, lines[0], lines[1]))
    return fitted


def _line(values: Sequence[int]) -> tuple[float, float] | None:
    (n, _, m), (a, b, c) = COUNTS, values
    slope = (c - a) / (m - n)
    at = a - slope * n
    return (at, slope) if at + slope * COUNTS[1] == b else None


def measured() -> dict[str, dict[int, list[Collective]]]:
    """Return the collectives of every program for each number of devices."""
    return {
        name: {n: compiled(program, n) for n in (*COUNTS, CHECK)}
        for name, program in PROGRAMS.items()
    }


def parameters() -> int:
    """Return the total bytes of the parameters."""
    return 4 * LAYERS * (WIDTH * WIDTH + WIDTH)


def page(programs: dict[str, dict[int, list[Collective]]]) -> str:
    """Return the page as markdown."""
    rows, plan = [], []
    for name, by_count in programs.items():
        law = laws(by_count)
        held = law is not None and [one.of(CHECK) for one in law] == by_count[CHECK]
        cells = _cells({n: _cell(by_count[n]) for n in (*COUNTS, CHECK)})
        rows.append([name, PROGRAMS[name].about, cells, "yes" if held else "no"])
        if law is not None and held:
            sent = [sum(one.of(n).sent for one in law) / parameters() for n in MANY]
            calls = sum(one.of(MANY[-1]).count for one in law)
            plan.append([name, *map(_multiple, sent), str(calls)])
    counts = ", ".join(map(str, COUNTS))
    head = ["step", "", f"on {counts} and {CHECK} devices", f"linear up to {CHECK}"]
    many = ["step", *(f"{n} devices" for n in MANY), "operations"]
    return TEMPLATE.format(
        layers=LAYERS, width=WIDTH, rows=ROWS, parameters=f"{parameters():,}", check=CHECK,
        table=_table(head, rows), plan=_table(many, plan), micro=MICRO, version=jax.__version__,
    )  # fmt: skip


def _cells(of: dict[int, str]) -> str:
    """Return the collectives for all numbers of devices, each distinct text once."""
    if len(set(of.values())) == 1:
        return next(iter(of.values()))
    groups: dict[str, list[int]] = {}
    for devices, text in of.items():
        groups.setdefault(text, []).append(devices)
    return "<br>".join(f"on {', '.join(map(str, n))}: {text}" for text, n in groups.items())


def _cell(operations: list[Collective]) -> str:
    return "<br>".join(
        f"{c.count} {c.kind}, {_multiple(c.bytes / parameters())}" for c in operations
    )


def _multiple(of_parameters: float) -> str:
    """Return a number of bytes as a multiple of P: 1 P, 0.333 P."""
    return f"{round(of_parameters, 3):g} P"


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


TEMPLATE = """\
# Communication on many devices

This page lists the collective operations of a training step. `jaxgrad.distributed.collectives`
reads them from the programs that XLA compiles (JAX {version}, CPU); no program is run or timed. A
test keeps the page current; to rewrite it, run
`python -m parity_tests.audits.collectives --markdown docs/distributed.md`.

The network has {layers} layers, each with a {width}×{width} weight and a bias: P = {parameters}
bytes of float32 parameters. Each device has {rows} rows of the batch, for any number of devices.
The bytes are those of the whole arrays that are reduced or gathered.

{table}

The last column says whether the straight line through 2, 4 and 8 devices predicts the program
compiled for {check} devices exactly.

## Extrapolation to more devices

The next table gives the bytes that one device sends per step if the devices form a ring, as a
multiple of P: an all-reduce of B bytes sends 2 (n - 1) / n × B, an all-gather or a reduce-scatter
(n - 1) / n × B. The numbers extrapolate the lines of the first table. The last column is the number
of collective operations per step; each adds its own latency.

{plan}

Conclusions:

- In data parallel training the bytes do not grow with the number of devices: a device sends at most
  2 P per step. The latency of a ring grows in proportion to n.
- Accumulating {micro} micro-batches locally (`no_sync`) sends 1/{micro} of the bytes of reducing
  each micro-batch. In `shard_map` (with `check_vma=True`, its default) the parameters must be
  cast for this (`lax.pcast(.., to="varying")`); without the cast the gradients are reduced in every
  iteration.
- XLA combines all gradients into one all-reduce. Each layer of SyncBatchNorm adds small all-reduces
  that depend on each other, which cost latency rather than bytes.
- With sharded parameters, `shard_map` sends as many bytes as DDP: P gathered and P scattered, leaf
  by leaf. torch's `fully_shard` gathers each layer again in the backward pass. `jax.checkpoint`
  asks for the same, but XLA on CPU merges the second gather with the first and keeps the result.
- Under `jit` XLA chooses the collectives. Steps that are not linear in the number of devices are
  not extrapolated. To fix where arrays are gathered, use `lax.with_sharding_constraint` or
  `shard_map`.
"""


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m parity_tests.audits.collectives", description=__doc__
    )
    parser.add_argument(
        "--markdown", metavar="FILE", help="file to write (default: standard output)"
    )
    options = parser.parse_args(argv)
    jax.config.update("jax_num_cpu_devices", CHECK)
    text = page(measured())
    if options.markdown:
        pathlib.Path(options.markdown).write_text(text, encoding="utf-8")
    else:
        print(text, end="")


if __name__ == "__main__":
    main()
