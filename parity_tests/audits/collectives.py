"""What a training step sends, as a function of the number of devices: from the compiled programs.

    python -m parity_tests.audits.collectives --markdown docs/distributed.md

Compiled for 2, 4 and 8 devices; what a law of these says of 64 is compared with 64. Nothing runs.
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
MANY = (8, 64, 1024, 4096)  # of the plan
LAYERS, WIDTH, ROWS = 3, 64, 16  # ROWS of the batch on each device
MICRO = 4  # batches of an accumulated step
AXIS = "ranks"


class Program(NamedTuple):
    """A training step, and how its parameters lie: all on every device, or some rows on each."""

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
    del mesh  # the arguments have it
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
    """A layer is gathered where it is used, and again on the way back."""

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
    "DDP, `jit`": Program("the batch is sharded, parameters are not", _by_sharding, P()),
    "DDP, `shard_map`": Program(
        "the gradient of `pmean(loss)`", _mapped(P(), _step(_mean_of(_loss))), P()
    ),
    "DDP, accumulated": Program(
        f"{MICRO} micro-batches, reduced each time", _mapped(P(), _each_sync), P()
    ),
    "DDP, `no_sync`": Program(
        f"{MICRO} micro-batches, local, reduced once", _mapped(P(), _no_sync), P()
    ),
    "SyncBatchNorm": Program(
        f"DDP with {LAYERS} norms over all rows", _mapped(P(), _step(_mean_of(_sync_loss))), P()
    ),
    "FSDP, `shard_map`": Program(
        "parameters are sharded, gathered and kept", _mapped(P(AXIS), _fsdp), P(AXIS)
    ),
    "FSDP, gathered again": Program(
        "and gathered anew on the way back", _mapped(P(AXIS), _fsdp_again), P(AXIS)
    ),
    "FSDP, `jit`": Program(
        "batch and parameters are sharded; what XLA chose on a CPU", _by_sharding, P(AXIS)
    ),
}


def compiled(program: Program, devices: int) -> list[Collective]:
    """The collectives of one step."""
    mesh = Mesh(jax.devices("cpu")[:devices], (AXIS,), axis_types=(jax.sharding.AxisType.Auto,))

    def array(spec: P, *shape: int) -> jax.ShapeDtypeStruct:
        return jax.ShapeDtypeStruct(shape, jnp.float32, sharding=NamedSharding(mesh, spec))

    layer = {"w": array(program.params, WIDTH, WIDTH), "b": array(program.params, WIDTH)}
    rows = array(P(AXIS), devices * ROWS, WIDTH)
    step = jax.jit(program.make(mesh), out_shardings=None)
    return collectives(step, [layer] * LAYERS, rows, rows)


@dataclasses.dataclass(frozen=True)
class Law:
    """Count and bytes of one kind, as `at` + `slope` times the number of devices."""

    kind: str
    count: tuple[float, float]
    bytes: tuple[float, float]

    def of(self, devices: int) -> Collective:
        count, size = (round(at + slope * devices) for at, slope in (self.count, self.bytes))
        return Collective(self.kind, devices, count, size)


def laws(found: dict[int, list[Collective]]) -> list[Law] | None:
    """The lines through what was found for `COUNTS`, or None where it does not lie on lines."""
    kinds = [[(c.kind, c.devices == n) for c in found[n]] for n in COUNTS]
    if any(k != kinds[0] or not all(whole for _, whole in k) for k in kinds):
        return None
    made = []
    for place, (kind, _) in enumerate(kinds[0]):
        one = [found[n][place] for n in COUNTS]
        lines = [_line([c.count for c in one]), _line([c.bytes for c in one])]
        if lines[0] is None or lines[1] is None:
            return None
        made.append(Law(kind, lines[0], lines[1]))
    return made


def _line(values: Sequence[int]) -> tuple[float, float] | None:
    (n, _, m), (a, b, c) = COUNTS, values
    slope = (c - a) / (m - n)
    at = a - slope * n
    return (at, slope) if at + slope * COUNTS[1] == b else None


def measured() -> dict[str, dict[int, list[Collective]]]:
    """What every program sends, for each number of devices."""
    return {
        name: {n: compiled(program, n) for n in (*COUNTS, CHECK)}
        for name, program in PROGRAMS.items()
    }


def parameters() -> int:
    """Bytes of all parameters together."""
    return 4 * LAYERS * (WIDTH * WIDTH + WIDTH)


def page(found: dict[str, dict[int, list[Collective]]]) -> str:
    """The page, in markdown."""
    rows, plan = [], []
    for name, by_count in found.items():
        law = laws(by_count)
        held = law is not None and [one.of(CHECK) for one in law] == by_count[CHECK]
        cells = [_cell(by_count[n]) for n in (*COUNTS, CHECK)]
        rows.append([name, PROGRAMS[name].about, *cells, "yes" if held else "no"])
        if law is not None and held:
            sent = [sum(one.of(n).sent for one in law) / parameters() for n in MANY]
            calls = sum(one.of(MANY[-1]).count for one in law)
            plan.append([name, *(f"{x:.3f} P" for x in sent), str(calls)])
    head = ["step", "", *(f"{n} devices" for n in (*COUNTS, CHECK)), f"law holds at {CHECK}"]
    many = ["step", *(f"{n} devices" for n in MANY), "operations"]
    return TEMPLATE.format(
        layers=LAYERS, width=WIDTH, rows=ROWS, parameters=f"{parameters():,}", check=CHECK,
        table=_table(head, rows), plan=_table(many, plan), micro=MICRO, version=jax.__version__,
    )  # fmt: skip


def _cell(found: list[Collective]) -> str:
    return "<br>".join(f"{c.count} {c.kind}, {c.bytes / parameters():.3f} P" for c in found)


def _table(head: Sequence[str], rows: Sequence[Sequence[str]]) -> str:
    lines = [head, ["---"] * len(head), *rows]
    return "\n".join(f"| {' | '.join(line)} |" for line in lines)


TEMPLATE = """\
# Many devices: what a step sends

Read by `jaxgrad.distributed.collectives` from the programs that XLA compiled (JAX {version}, CPU);
nothing was run, and nothing was timed. Written by
`python -m parity_tests.audits.collectives --markdown docs/distributed.md`, and compared by a test.

The network has {layers} layers of {width}×{width} and a bias: P = {parameters} bytes of parameters,
float32. Each device has {rows} rows of the batch, however many devices there are. The bytes are of
whole arrays: what is reduced, or what is gathered.

{table}

The last column: the straight line through 2, 4 and 8 devices gives exactly what is compiled for
{check}.

## The plan for more

What one device sends in a step where the groups are rings, as a multiple of P: an all-reduce of B
bytes takes 2 (n - 1) / n × B, an all-gather or a reduce-scatter (n - 1) / n × B. The law of the
table, extrapolated; the last column is how many operations a step waits for, each with its own
latency.

{plan}

What follows from it:

- The bytes of data parallel training do not grow with the devices: at most 2 P leave a device in a
  step. What grows is the latency of a ring, in proportion to n.
- Accumulating {micro} micro-batches locally (`no_sync`) sends a {micro}th of what reducing each is.
  In `shard_map` this takes a cast of the parameters (`lax.pcast(.., to="varying")`); without it the
  gradients are summed in each turn.
- XLA puts all gradients into one all-reduce. Each norm of SyncBatchNorm adds its own, small and one
  after the other: it costs latency, not bytes.
- Sharded parameters in `shard_map` send what DDP sends: P gathered, P scattered, leaf by leaf.
  torch's `fully_shard` gathers each layer again on the way back; so does `jax.checkpoint` here, but
  XLA, on a CPU, merges the second gathering with the first, and keeps what was gathered.
- Under `jit` XLA chooses by itself; a step whose law does not hold is not extrapolated. Say where
  gathering is meant (`lax.with_sharding_constraint`), or use `shard_map`.
"""


def main(argv: Sequence[str] | None = None) -> None:
    parser = argparse.ArgumentParser(
        prog="python -m parity_tests.audits.collectives", description=__doc__
    )
    parser.add_argument("--markdown", metavar="FILE", help="write the page; else to the terminal")
    options = parser.parse_args(argv)
    jax.config.update("jax_num_cpu_devices", CHECK)
    text = page(measured())
    if options.markdown:
        pathlib.Path(options.markdown).write_text(text, encoding="utf-8")
    else:
        print(text, end="")


if __name__ == "__main__":
    main()
