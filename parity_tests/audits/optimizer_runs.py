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
# Whose sums over elements XLA orders in its own way: not bit for bit.
WITH_SUMS = {"adafactor": torch.optim.Adafactor, "muon": torch.optim.Muon}
# Each in both dtypes, in one tree: one program for all.
SHAPES = [(7, 5), (33,), (), (0, 3)]
DTYPES = ["float32"] * len(SHAPES) + ["float64"] * len(SHAPES)
Arrays = list[np.ndarray]
Run = tuple[Arrays, list[dict[str, np.ndarray]]]  # parameters, and the state of each


@contextlib.contextmanager
def ieee_sqrt() -> Iterator[None]:
    """torch with numpy's square root: its own is off in the last bit now and then."""
    before = torch.Tensor.sqrt, torch.Tensor.sqrt_, torch.Tensor.__pow__
    torch.Tensor.sqrt = lambda self: torch.as_tensor(np.sqrt(self.numpy()))
    torch.Tensor.sqrt_ = lambda self: self.copy_(self.sqrt())
    torch.Tensor.__pow__ = lambda self, other: (
        self.sqrt() if other == 0.5 else before[2](self, other)
    )
    try:
        yield
    finally:
        torch.Tensor.sqrt, torch.Tensor.sqrt_, torch.Tensor.__pow__ = before


def problem(
    seed: int,
    steps: int,
    dtypes: Sequence[str] = DTYPES,
    shapes: Sequence[tuple[int, ...]] = SHAPES,
) -> tuple[Arrays, list[Arrays]]:
    """First parameters and the gradients of every step, of mixed shapes, dtypes and magnitudes."""
    rng = np.random.default_rng(seed)
    shapes = [shapes[i % len(shapes)] for i in range(len(dtypes))]
    scales = 10.0 ** rng.uniform(-3, 2, len(shapes))

    def draw(i: int) -> np.ndarray:
        x = rng.standard_normal(shapes[i])
        if dtypes[i].startswith("complex"):
            x = x + 1j * rng.standard_normal(shapes[i])
        return np.asarray(x)

    def cast(x: np.ndarray, i: int) -> np.ndarray:
        return np.asarray(x, dtypes[i])

    every = range(len(dtypes))
    params = [cast(draw(i), i) for i in every]
    grads = [[cast((draw(i) + 0.3) * scales[i], i) for i in every] for _ in range(steps)]
    return params, grads


def in_float64(arrays: Any) -> Any:
    """The same numbers, computed with in float64."""
    return jax.tree.map(lambda x: x.astype(np.float64), arrays)


def with_none(grads: Sequence[Arrays], live: Any) -> list[list[Any]]:
    """None in place of the gradients that are not `live`."""
    if live is None:
        return [list(step) for step in grads]
    return [
        [g if alive else None for g, alive in zip(step, row, strict=True)]
        for step, row in zip(grads, live, strict=True)
    ]


def run_torch(
    name: str,
    options: Mapping[str, Any],
    params: Arrays,
    grads: Sequence[Sequence[np.ndarray | None]],
    schedule: Any = None,
) -> Run:
    """Every step in torch; a gradient that is None is None there."""
    leaves = [tensor(p).requires_grad_() for p in params]
    optimizer = (TORCH | WITH_SUMS)[name](leaves, **options)
    for i, step in enumerate(grads):
        if schedule is not None:
            optimizer.param_groups[0]["lr"] = schedule(i)
        for leaf, grad in zip(leaves, step, strict=True):
            leaf.grad = None if grad is None else tensor(grad)
        optimizer.step()
    states = [
        {k: array(v) for k, v in optimizer.state[leaf].items() if v is not None} for leaf in leaves
    ]
    return [array(leaf) for leaf in leaves], states


def tensor(x: np.ndarray) -> torch.Tensor:
    """A copy in torch; numpy has no bfloat16 of its own."""
    if x.dtype == jnp.bfloat16:
        return torch.tensor(x.astype(np.float32)).bfloat16()
    return torch.tensor(x)


def array(x: torch.Tensor) -> np.ndarray:
    if x.dtype == torch.bfloat16:
        return x.detach().float().numpy().astype(jnp.bfloat16)
    return x.detach().numpy()


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
    states = [
        {k: np.asarray(v[i]) for k, v in fields.items() if v[i] is not None}
        for i in range(len(first))
    ]
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
    moved = max(_largest(b - p) for b, p in zip(theirs, start, strict=True))
    off = max(_largest(a - b) for a, b in zip(ours, theirs, strict=True))
    return off / moved if moved else off


def _largest(x: np.ndarray) -> float:
    return float(np.max(np.abs(x), initial=0.0))


def too_far(ours: Run, theirs: Run, other: Run, oracle: Run) -> list[str]:
    """Parameters and states that are further from the float64 run than rounding explains.

    In float64 by 1e-12 of their scale; below by three times the worse of torch's own two runs, at
    least by 4 ULP at the scale of the leaf.
    """
    out = []

    def check(name: str, x: Any, y: Any, z: Any, truth: Any) -> None:
        scale, off = _largest(truth), _largest(x - truth)
        bound = 1e-12 * scale
        if y.dtype != np.float64:
            own = max(_largest(y - truth), _largest(z - truth))
            bound = max(3 * own, 4 * float(np.spacing(y.dtype.type(scale))))
        if not off <= bound:
            out.append(f"{name}: {off:.2g} away, {bound:.2g} allowed")

    for i, leaves in enumerate(zip(ours[0], theirs[0], other[0], oracle[0], strict=True)):
        if leaves[1].dtype != np.float64:  # whose displacement is looked at, all of them together
            check(f"param {i}", *leaves)
    for i, states in enumerate(zip(ours[1], theirs[1], other[1], oracle[1], strict=True)):
        for field in states[1]:
            check(f"{field} {i}", *(state[field] for state in states))
    return out


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
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    nan = np.isnan(a) & np.isnan(b)
    return bool(np.all(nan | ((a == b) & (np.signbit(a) == np.signbit(b)))))


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
        dict(betas=(0.8, 0.99)),  # `mu_product` is subnormal in the end
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


# Of every optimizer its longest way.
ONE_EACH: dict[str, dict[str, Any]] = {
    "sgd": dict(lr=0.1, momentum=0.9, dampening=0.2, weight_decay=0.1),
    "adam": dict(lr=0.03, amsgrad=True, weight_decay=0.1),
    "adamw": dict(lr=0.03),
    "adamax": dict(lr=0.03),
    "nadam": dict(lr=0.03, weight_decay=0.1, decoupled_weight_decay=True),
    "radam": dict(lr=0.03, betas=(0.8, 0.9)),
    "rmsprop": dict(lr=0.03, centered=True, momentum=0.9),
    "adagrad": dict(lr=0.1, lr_decay=0.1, initial_accumulator_value=0.2),
    "adadelta": dict(lr=1.0),
    "rprop": dict(lr=0.03),
    "asgd": dict(lr=0.03, t0=2.0),
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
