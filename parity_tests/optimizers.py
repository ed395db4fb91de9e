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


# --- configurations -------------------------------------------------------------------------------


CONFIGURATIONS: dict[str, list[dict[str, Any]]] = {
    "sgd": [
        {},
        dict(weight_decay=0.1),
        dict(maximize=True),
        dict(momentum=0.9),
        dict(momentum=0.9, dampening=0.3),
        dict(momentum=0.9, nesterov=True),
        dict(momentum=0.5, dampening=-0.2, weight_decay=0.01, maximize=True),
        dict(momentum=0.8, nesterov=True, weight_decay=0.05, lr=0.3),
    ],
    "adam": [
        {},
        dict(betas=(0.4, 0.7)),
        dict(eps=1e-2),
        dict(weight_decay=0.1),
        dict(weight_decay=0.1, decoupled_weight_decay=True),
        dict(amsgrad=True),
        dict(maximize=True),
        dict(betas=(0.0, 0.5), eps=0.0, amsgrad=True, weight_decay=0.03, maximize=True),
    ],
    "adamw": [{}, dict(amsgrad=True, weight_decay=0.2), dict(betas=(0.8, 0.99), maximize=True)],
    "adamax": [
        {},
        dict(betas=(0.3, 0.6), eps=1e-3),
        dict(weight_decay=0.1),
        dict(maximize=True),
    ],
    "nadam": [
        {},
        dict(betas=(0.5, 0.8), eps=1e-3),
        dict(momentum_decay=0.1),
        dict(weight_decay=0.1),
        dict(weight_decay=0.1, decoupled_weight_decay=True, maximize=True),
    ],
    "radam": [
        {},
        dict(betas=(0.7, 0.8), eps=1e-3),
        dict(weight_decay=0.1),
        dict(weight_decay=0.1, decoupled_weight_decay=True, maximize=True),
    ],
    "rmsprop": [
        {},
        dict(alpha=0.6, eps=1e-3),
        dict(momentum=0.9),
        dict(centered=True),
        dict(weight_decay=0.1),
        dict(centered=True, momentum=0.5, weight_decay=0.1, alpha=0.9, maximize=True),
    ],
    "adagrad": [
        {},
        dict(lr_decay=0.1),
        dict(initial_accumulator_value=0.3),
        dict(weight_decay=0.1, eps=1e-2, maximize=True),
    ],
    "adadelta": [
        {},
        dict(rho=0.5, eps=1e-3),
        dict(weight_decay=0.1, maximize=True, lr=0.5),
    ],
    "rprop": [
        {},
        dict(etas=(0.3, 1.5)),
        dict(step_sizes=(1e-3, 0.05), maximize=True),
    ],
    "asgd": [
        {},
        dict(lambd=0.1),
        dict(alpha=0.4, t0=10.0),
        dict(weight_decay=0.1, t0=0.0, maximize=True),
    ],
}


def drawn(rng: np.random.Generator) -> tuple[str, dict[str, Any]]:
    """An optimizer with options of any kind together."""
    name = str(rng.choice(list(TORCH)))

    def one(*choices: Any) -> Any:
        return choices[rng.integers(len(choices))]

    options: dict[str, Any] = dict(lr=float(10 ** rng.uniform(-4, -0.5)), maximize=one(True, False))
    if name != "rprop":
        options["weight_decay"] = one(0, 0.0, float(rng.uniform(0, 0.2)))
    if name in {"adam", "adamw", "adamax", "nadam", "radam"}:
        options["betas"] = one(
            (0.9, 0.999), (0.0, 0.0), (0.5, 0.5), tuple(map(float, rng.uniform(0, 0.999, 2)))
        )
    if name in {"adam", "adamw", "adamax", "nadam", "radam", "rmsprop", "adagrad", "adadelta"}:
        options["eps"] = one(1e-8, 1e-3, 1e-10)
    if name in {"adam", "adamw"}:
        options["amsgrad"] = one(True, False)
    if name in {"adam", "nadam", "radam"}:
        options["decoupled_weight_decay"] = one(True, False)
    if name == "nadam":
        options["momentum_decay"] = one(4e-3, 0.0, float(rng.uniform(0, 0.5)))
    if name in {"sgd", "rmsprop"}:
        options["momentum"] = one(0, 0.9, float(rng.uniform(0, 1.0)))
    if name == "sgd":
        options["nesterov"] = options["momentum"] > 0 and one(True, False)
        options["dampening"] = 0 if options["nesterov"] else one(0, 0.5, float(rng.uniform(-1, 1)))
    if name == "rmsprop":
        options |= dict(centered=one(True, False), alpha=one(0.99, 0.5, float(rng.uniform(0.3, 1))))
    if name == "adagrad":
        options |= dict(lr_decay=one(0, 0.2), initial_accumulator_value=one(0, 0.1, 3.0))
    if name == "adadelta":
        options["rho"] = one(0.9, 0.3, float(rng.uniform(0, 1)))
    if name == "rprop":
        options["etas"] = (float(rng.uniform(0.05, 0.95)), float(rng.uniform(1.01, 2)))
        options["step_sizes"] = one((1e-6, 50), (1e-3, 1e-2), (0, 1))
    if name == "asgd":
        options |= dict(lambd=one(1e-4, 0.0, 0.3), alpha=one(0.75, 0.3), t0=one(1e6, 0, 7.5))
    return name, options
