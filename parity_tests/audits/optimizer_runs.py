"""Run the same optimizer over the same gradients in torch and in JAX, and compare the results."""

from __future__ import annotations

import contextlib
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import torch

from jaxgrad import optim
from jaxgrad.parity.compiling import QUICK
from parity_tests.audits.optimizers import OPTIMIZERS
from parity_tests.runner.settings import USUAL


# One tree holds every shape in both dtypes, so that one compiled program covers all of them.
SHAPES = [(7, 5), (33,), (), (0, 3)]
DTYPES = ["float32"] * len(SHAPES) + ["float64"] * len(SHAPES)
Arrays = list[np.ndarray]
Run = tuple[Arrays, list[dict[str, np.ndarray]]]  # final parameters, and the state of each


@contextlib.contextmanager
def ieee_sqrt() -> Iterator[None]:
    """Give torch numpy's correctly rounded square root; its own is sometimes off by one ULP."""
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
    """Draw initial parameters and the gradients of every step, of mixed shapes and magnitudes."""
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
    """Convert every array to float64."""
    return jax.tree.map(lambda x: x.astype(np.float64), arrays)


def with_none(grads: Sequence[Arrays], live: Any) -> list[list[Any]]:
    """Replace the gradients that are not `live` by None."""
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
    """Take all steps with torch's optimizer and return the parameters and states."""
    leaves = [tensor(p).requires_grad_() for p in params]
    optimizer = OPTIMIZERS[name].torch(leaves, **options)  # pyright: ignore[reportCallIssue]
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
    """Copy an array to torch, even a bfloat16 array, which plain numpy does not support."""
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
    quick: bool = False,
) -> Run:
    """Take all steps in one compiled scan, by `step` or by `update` and `apply_updates`.

    The program is compiled as users compile it, unless it may be compiled quickly.
    """
    first = [jnp.asarray(p) for p in params]
    stacked = [jnp.stack([jnp.asarray(step[i]) for step in grads]) for i in range(len(first))]
    alive = None if live is None else list(jnp.asarray(live).T)
    final, state = scanned(tx, as_optax, quick)(first, stacked, alive)
    fields = {k: v for k, v in state._asdict().items() if v is not None and k != "count"}
    states = [
        {k: np.asarray(v[i]) for k, v in fields.items() if v[i] is not None}
        for i in range(len(first))
    ]
    return [np.asarray(p) for p in final], states


def scanned(tx: Any, as_optax: bool = False, quick: bool = False) -> Any:
    """Compile one program for all steps."""

    def body(carry: Any, step: Any) -> Any:
        (params, state), (grads, live) = carry, step
        if as_optax:
            updates, state = tx.update(grads, state, params, live=live)
            return ([p + u for p, u in zip(params, updates, strict=True)], state), None
        return tx.step(grads, state, params, live=live), None

    return jax.jit(
        lambda params, grads, live: jax.lax.scan(body, (params, tx.init(params)), (grads, live))[0],
        compiler_options=QUICK if quick else USUAL,
    )


def relative_difference(ours: Arrays, theirs: Arrays, start: Arrays) -> float:
    """Return the largest difference, relative to the largest displacement from `start`."""
    displacement = max(_largest(b - p) for b, p in zip(theirs, start, strict=True))
    difference = max(_largest(a - b) for a, b in zip(ours, theirs, strict=True))
    return difference / displacement if displacement else difference


def _largest(x: np.ndarray) -> float:
    return float(np.max(np.abs(x), initial=0.0))


def excess_errors(ours: Run, oracle: Run, theirs: Sequence[Run]) -> list[str]:
    """Describe the parameters and states whose error exceeds what rounding can explain.

    Errors are measured against a float64 run. The bound is 1e-12 of the scale in float64, else
    three times the largest error of torch's own runs, and at least 4 ULP at the leaf's scale.
    """
    out = []

    def check(name: str, x: Any, truth: Any, *torch_values: Any) -> None:
        scale, error = _largest(truth), _largest(x - truth)
        bound = 1e-12 * scale
        if x.dtype != np.float64:
            own = max(_largest(y - truth) for y in torch_values)
            bound = max(3 * own, 4 * float(np.spacing(x.dtype.type(scale))))
        if not error <= bound:
            out.append(f"{name}: error {error:.2g}, {bound:.2g} allowed")

    for i, leaves in enumerate(zip(ours[0], oracle[0], *(run[0] for run in theirs), strict=True)):
        if leaves[0].dtype != np.float64:  # float64 leaves are compared by their displacement
            check(f"param {i}", *leaves)
    for i, states in enumerate(zip(ours[1], oracle[1], *(run[1] for run in theirs), strict=True)):
        for field in states[2]:
            check(f"{field} {i}", *(state[field] for state in states))
    return out


def nudged(params: Arrays, salt: int) -> Arrays:
    """Move every parameter by one ULP, up or down, to measure torch's own rounding error."""
    rng = np.random.default_rng(salt)
    ends = [np.where(rng.random(p.shape) < 0.5, -np.inf, np.inf).astype(p.dtype) for p in params]
    return [np.nextafter(p, end) for p, end in zip(params, ends, strict=True)]


def differing(ours: Run, theirs: Run) -> list[str]:
    """Name the parameters and states that are not bit-identical to torch's."""
    out = [
        f"param {i}"
        for i, (a, b) in enumerate(zip(ours[0], theirs[0], strict=True))
        if not same_bits(a, b)
    ]
    for i, (a, b) in enumerate(zip(ours[1], theirs[1], strict=True)):
        out += [f"{k} {i}" for k in b if k not in a or not same_bits(a[k], b[k])]
    return out


def same_bits(a: np.ndarray, b: np.ndarray) -> bool:
    """Whether two arrays are bit-identical, with all NaNs counted as equal."""
    if a.dtype != b.dtype or a.shape != b.shape:
        return False
    nan = np.isnan(a) & np.isnan(b)
    return bool(np.all(nan | ((a == b) & (np.signbit(a) == np.signbit(b)))))
