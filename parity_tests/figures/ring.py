"""The ring that averages the gradients of a data-parallel step, chunk by chunk."""

import math
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

from jaxgrad.distributed import Collective
from parity_tests.cases import distributed as programs
from parity_tests.figures.canvas import Point, arrow, both, labelled, number, svg, text
from parity_tests.figures.run import arrays, in_torch


CASE = "distributed/ddp"
RANKS = 4
LEAF = ("l2", "bias")  # it has one element for each rank, so each chunk is one number


class Record(NamedTuple):
    """The journey of a gradient's first element around the ring.

    Attributes:
        sums: The number on each rank at the start and after each step of the ring.
        sent: The rank that sends the number on in each step.
        mean: The last number divided by the number of ranks, on each rank.
        torch: The gradient on each rank after torch's `DistributedDataParallel`.
        share: The bytes that a rank sends, as a multiple of the bytes of the gradient.
    """

    sums: tuple[tuple[float, ...], ...]
    sent: tuple[int, ...]
    mean: tuple[float, ...]
    torch: tuple[float, ...]
    share: float


def record() -> Record:
    """Compute each rank's own gradient, and reduce it with `ppermute` as a ring does."""
    given = arrays(CASE)

    def program(net: Any, x: Any, y: Any) -> Any:
        grads = jax.grad(programs.mlp_loss)(programs.local(net), x, y)
        return jnp.stack(_ring(grads[LEAF[0]][LEAF[1]]))

    run = jax.jit(lambda net, *rows: programs.on_ranks(RANKS, program, net, *rows))
    moments = np.asarray(run(given["net"], given["x"], given["y"]))
    grads = in_torch(CASE)["grads"][LEAF[0]][LEAF[1]]
    reduce = Collective("all-reduce", RANKS, 1, moments[0, 0].nbytes)
    steps = range(2 * RANKS - 2)
    return Record(
        tuple(tuple(map(float, moments[:, step, 0])) for step in (*steps, 2 * RANKS - 2)),
        tuple(step % RANKS for step in steps),
        tuple(float(v) / RANKS for v in moments[:, -1, 0]),
        tuple(float(v) for v in np.asarray(grads)[:, 0]),
        reduce.sent / moments[0, 0].nbytes,
    )


def _ring(chunks: Any) -> list[Any]:
    """Return the chunks of a rank before and after each step of a ring all-reduce.

    In the first half each rank adds the chunk that it receives; in the second half it replaces its
    own chunk by the complete sum.
    """
    rank = lax.axis_index(programs.RANKS)
    onward = [(source, (source + 1) % RANKS) for source in range(RANKS)]
    moments = [chunks]
    for step in range(2 * RANKS - 2):
        adds = step < RANKS - 1
        received = lax.ppermute(chunks[(rank - step) % RANKS], programs.RANKS, onward)
        place = (rank - 1 - step) % RANKS
        chunks = chunks.at[place].set(chunks[place] + received if adds else received)
        moments.append(chunks)
    return moments


def draw(record: Record) -> str:
    """Draw the ring, and below it the number on each rank after each step."""
    parts = [text(14, 26, "one element of a gradient on four ranks", "bold")]
    center, radius = Point(220, 116), 62
    for rank in range(RANKS):
        parts.append(_link(center, radius, rank))
        place = _on_ring(center, radius, rank)
        parts.append(labelled(place, 118, f"rank {rank}: {number(record.sums[0][rank])}", "plain"))
    names = ["own"] + [
        f"{'add' if step < RANKS - 1 else 'copy'} {step + 1}" for step in range(len(record.sent))
    ]
    parts += [text(124 + 88 * rank, 222, f"rank {rank}", "middle faint") for rank in range(RANKS)]
    total = record.sums[-1][0]
    for row, (name, numbers) in enumerate(zip(names, record.sums, strict=True)):
        y = 244 + 34 * row
        parts.append(text(14, y + 4, name, "faint"))
        for rank, value in enumerate(numbers):
            here = row > 0 and (record.sent[row - 1] + 1) % RANKS == rank
            complete = math.isclose(value, total) and row >= RANKS - 1
            look = "kept" if complete else "violet" if here else "plain"
            parts.append(labelled(Point(124 + 88 * rank, y), 68, number(value), look, height=22))
        if row < len(record.sent):
            start = 124 + 88 * record.sent[row]
            end = 124 + 88 * ((record.sent[row] + 1) % RANKS)
            side = 30 if end > start else -30
            parts.append(arrow(Point(start + side, y + 12), Point(end - side, y + 22), "violet"))
    y = 244 + 34 * len(names)
    parts.append(text(14, y + 4, "mean", "bold"))
    for rank, pair in enumerate(zip(record.torch, record.mean, strict=True)):
        parts.append(labelled(Point(124 + 88 * rank, y), 78, both(*pair), "kept", height=22))
    same = all(map(math.isclose, record.torch, record.mean))
    words = f"torch's DDP leaves {'the same' if same else 'another'} mean on every rank."
    parts.append(text(14, y + 34, words))
    words = f"A rank sends {number(record.share)} times the bytes of the gradient"
    parts.append(text(14, y + 54, f"{words}, in {len(record.sent)} steps.", "faint"))
    return svg("The ring all-reduce of a data-parallel step", parts, y + 68)


def _on_ring(center: Point, radius: float, rank: int) -> Point:
    angle = math.pi * (1 - 2 * rank / RANKS)
    return Point(center.x + 2.2 * radius * math.cos(angle), center.y - radius * math.sin(angle))


def _link(center: Point, radius: float, rank: int) -> str:
    """Draw the arrow from a rank to the next one, between their boxes."""
    start, end = (_on_ring(center, radius, r) for r in (rank, rank + 1))
    near = [
        Point(start.x + (end.x - start.x) * s, start.y + (end.y - start.y) * s) for s in (0.3, 0.7)
    ]
    return arrow(near[0], near[1], "violet")
