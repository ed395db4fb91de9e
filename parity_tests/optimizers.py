"""The same optimizer over the same gradients, in torch and in JAX, and how far apart they end."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import torch

from jaxgrad import optim


TORCH = {
    "sgd": torch.optim.SGD,
    "adam": torch.optim.Adam,
    "adamw": torch.optim.AdamW,
    "adamax": torch.optim.Adamax,
    "nadam": torch.optim.NAdam,
    "radam": torch.optim.RAdam,
    "rmsprop": torch.optim.RMSprop,
    "adagrad": torch.optim.Adagrad,
    "adadelta": torch.optim.Adadelta,
    "rprop": torch.optim.Rprop,
    "asgd": torch.optim.ASGD,
}
SHAPES = [(7, 5), (33,), (), (2, 3, 4), (1,), (0, 3), (64,)]
Arrays = list[np.ndarray]
Run = tuple[Arrays, list[dict[str, np.ndarray]]]  # parameters, and the state of each


@contextlib.contextmanager
def ieee_sqrt() -> Iterator[None]:
    """torch with numpy's square root: its own is off in the last bit now and then."""
    before = torch.Tensor.sqrt, torch.Tensor.sqrt_
    torch.Tensor.sqrt = lambda self: torch.as_tensor(np.sqrt(self.numpy()))
    torch.Tensor.sqrt_ = lambda self: self.copy_(self.sqrt())
    try:
        yield
    finally:
        torch.Tensor.sqrt, torch.Tensor.sqrt_ = before


def problem(
    seed: int, steps: int, dtype: str, shapes: Sequence[tuple[int, ...]] = SHAPES
) -> tuple[Arrays, list[Arrays]]:
    """First parameters and the gradients of every step, of mixed shapes and magnitudes."""
    rng = np.random.default_rng(seed)

    def draw(shape: tuple[int, ...]) -> np.ndarray:
        x = rng.standard_normal(shape)
        if dtype.startswith("complex"):
            x = x + 1j * rng.standard_normal(shape)
        return np.asarray(x)

    scales = 10.0 ** rng.uniform(-3, 2, len(shapes))
    params = [draw(shape).astype(dtype) for shape in shapes]
    grads = [
        [
            np.asarray((draw(s) + 0.3) * scale).astype(dtype)
            for s, scale in zip(shapes, scales, strict=True)
        ]
        for _ in range(steps)
    ]
    return params, grads


def run_torch(
    name: str,
    options: Mapping[str, Any],
    params: Arrays,
    grads: Sequence[Sequence[np.ndarray | None]],
    schedule: Any = None,
) -> Run:
    """Every step in torch; a gradient that is None is None there."""
    leaves = [torch.tensor(p).requires_grad_() for p in params]
    optimizer = TORCH[name](leaves, **options)
    for i, step in enumerate(grads):
        if schedule is not None:
            optimizer.param_groups[0]["lr"] = schedule(i)
        for leaf, grad in zip(leaves, step, strict=True):
            leaf.grad = None if grad is None else torch.tensor(grad)
        optimizer.step()
    states = [
        {k: v.numpy() for k, v in optimizer.state[leaf].items() if v is not None} for leaf in leaves
    ]
    return [leaf.detach().numpy() for leaf in leaves], states


def run_jax(
    tx: optim.Transformation,
    params: Arrays,
    grads: Sequence[Arrays],
    live: Sequence[Sequence[bool]] | None = None,
    *,
    as_optax: bool = False,
) -> Run:
    """Every step in one compiled scan, by `step` or as optax does it."""
    first = [jnp.asarray(p) for p in params]
    stacked = [jnp.stack([jnp.asarray(step[i]) for step in grads]) for i in range(len(first))]
    alive = None if live is None else list(jnp.asarray(live).T)
    final, state = scanned(tx, as_optax)(first, stacked, alive)
    fields = {k: v for k, v in state._asdict().items() if v is not None and k != "count"}
    states = [{k: np.asarray(v[i]) for k, v in fields.items()} for i in range(len(first))]
    return [np.asarray(p) for p in final], states


def scanned(tx: Any, as_optax: bool = False) -> Any:
    """One program for all steps."""

    def body(carry: Any, step: Any) -> Any:
        (params, state), (grads, live) = carry, step
        if as_optax:
            updates, state = tx.update(grads, state, params, live=live)
            return ([p + u for p, u in zip(params, updates, strict=True)], state), None
        return tx.step(grads, state, params, live=live), None

    return jax.jit(
        lambda params, grads, live: jax.lax.scan(body, (params, tx.init(params)), (grads, live))[0]
    )


def apart(ours: Arrays, theirs: Arrays, start: Arrays) -> float:
    """The largest difference over the largest displacement."""
    worst = 0.0
    for a, b, p in zip(ours, theirs, start, strict=True):
        if p.size:
            assert (np.isnan(a) == np.isnan(b)).all(), "NaN on one side only"
            moved = np.nanmax(np.abs(b - p), initial=0.0)
            off = np.nanmax(np.abs(a - b), initial=0.0)
            worst = max(worst, off / moved if moved else float(off > 0))
    return float(worst)


def different(ours: Run, theirs: Run) -> list[str]:
    """Parameters and states of torch's that differ in a bit, by name."""
    out = [
        f"param {i}"
        for i, (a, b) in enumerate(zip(ours[0], theirs[0], strict=True))
        if not same(a, b)
    ]
    for i, (a, b) in enumerate(zip(ours[1], theirs[1], strict=True)):
        out += [f"{k} {i}" for k in b if k not in a or not same(a[k], b[k])]
    return out


def same(a: np.ndarray, b: np.ndarray) -> bool:
    """Bit for bit; any NaN is a NaN."""
    nan = np.isnan(a) & np.isnan(b)
    return a.dtype == b.dtype and a.shape == b.shape and bool(np.all(nan | (a == b)))
