"""The bytes that each way of checkpointing keeps, layer by layer."""

from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import torch
from torch.autograd.graph import saved_tensors_hooks
from torch.utils.checkpoint import checkpoint

import jaxgrad
from parity_tests.figures.canvas import box, svg, text


DEPTH, WIDTH, BATCH, SEGMENT = 9, 16, 8, 3
WAYS = {
    "plain": (0, "no checkpoint"),
    "each": (1, "each layer"),
    "segments": (SEGMENT, f"segments of {SEGMENT}"),
    "whole": (DEPTH, "the whole network"),
}


class Kept(NamedTuple):
    """The bytes kept by each framework that each layer computed."""

    torch: tuple[int, ...]
    jax: tuple[int, ...]


def record() -> dict[str, Kept]:
    """Count what a stack of layers `sin(h @ w)` keeps for its backward pass."""
    return {name: Kept(_in_torch(size), _in_jax(size)) for name, (size, _) in WAYS.items()}


def _segments(size: int) -> list[range]:
    return [range(i, min(i + max(size, 1), DEPTH)) for i in range(0, DEPTH, max(size, 1))]


def _in_torch(size: int) -> tuple[int, ...]:
    weights = [torch.ones(WIDTH, WIDTH, requires_grad=True) for _ in range(DEPTH)]
    x = torch.ones(BATCH, WIDTH)
    made: dict[int, int] = {}  # the layer that computed a tensor, by the address of its memory
    kept: dict[int, Any] = {}
    alive: list[Any] = []

    def pack(tensor: Any) -> Any:
        kept[tensor.untyped_storage().data_ptr()] = tensor
        return tensor

    def run(layers: range, h: Any) -> Any:
        for i in layers:
            product = h @ weights[i]
            h = torch.sin(product)
            for tensor in (product, h):
                made[tensor.untyped_storage().data_ptr()] = i
                alive.append(tensor)  # no address is used twice
        return h

    h = x
    with saved_tensors_hooks(pack, lambda tensor: tensor):
        for layers in _segments(size):
            h = checkpoint(run, layers, h, use_reentrant=False) if size else run(layers, h)
    counts = [0] * DEPTH
    for address, tensor in kept.items():
        if address in made:
            counts[made[address]] += tensor.untyped_storage().nbytes()
    return tuple(counts)


def _in_jax(size: int) -> tuple[int, ...]:
    weights = [jnp.ones((WIDTH, WIDTH), jnp.float32) for _ in range(DEPTH)]
    x = jnp.ones((BATCH, WIDTH), jnp.float32)

    def program(weights: Any) -> Any:
        h = x
        for layers in _segments(size):

            def run(weights: Any, h: Any, layers: range = layers) -> Any:
                for i in layers:
                    with jax.named_scope(f"layer{i}"):
                        h = jnp.sin(h @ weights[i])
                return h

            h = (jax.checkpoint(run) if size else run)(weights, h)
        return h.sum()

    kept = jaxgrad.saved_bytes(program, weights)
    return tuple(_of_layer(kept.by_scope, i) for i in range(DEPTH))


def _of_layer(by_scope: dict[str, int], layer: int) -> int:
    return sum(size for scope, size in by_scope.items() if scope.split("/")[-1] == f"layer{layer}")


def draw(record: dict[str, Kept]) -> str:
    """Draw a row of cells for each way and framework, filled by the bytes of the layer."""
    most = max(max(side) for kept in record.values() for side in kept)
    width = 26.0
    parts = [
        text(14, 26, "bytes kept for the backward pass", "bold"),
        text(366, 50, "sum", "faint"),
    ]
    parts += [text(116 + width * (i + 0.5), 50, str(i + 1), "middle faint") for i in range(DEPTH)]
    parts.append(text(106, 50, "layer", "end faint"))
    for row, (name, kept) in enumerate(record.items()):
        top = 66 + 84 * row
        parts.append(text(14, top + 12, WAYS[name][1], "bold"))
        for side, (framework, look) in enumerate((("torch", "torch"), ("jax", "jax"))):
            y = top + 20 + 26 * side
            counts = kept[side]
            label = {"torch": "torch", "jax": "JAX"}[framework]
            parts.append(text(106, y + 15, label, f"end {look}"))
            for i, count in enumerate(counts):
                x = 116 + width * i
                full = 20 * count / most
                parts.append(box(x + 1, y, width - 2, 20, "faint hollow dotted", radius=1))
                if count:
                    parts.append(box(x + 1, y + 20 - full, width - 2, full, look, radius=1))
            parts.append(text(366, y + 15, f"{sum(counts):,}"))
    bottom = 66 + 84 * len(record)
    parts.append(
        text(14, bottom + 14, f"A full cell is {most:,} bytes: what sin and matmul save.", "faint")
    )
    return svg("What each way of checkpointing keeps along the depth", parts, bottom + 30)
