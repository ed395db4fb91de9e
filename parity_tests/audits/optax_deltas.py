"""Measure how far the obvious optax choice differs from torch, against recorded differences.

python -m parity_tests.audits.optax_deltas radam                                 some rows
python -m parity_tests.audits.optax_deltas --markdown benchmarks/OPTIM_DELTAS.md  every row
"""

import argparse
import dataclasses
import functools
import math
import pathlib
import sys
import warnings
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import torch

from parity_tests.audits import optimizer_runs as runs
from parity_tests.audits.optimizers import OPTIMIZERS, Counterpart, Optimizer
from parity_tests.runner.settings import configure


STEPS, EPOCHS = 100, 300
ROUNDING = 1e-11  # a difference up to this is rounding
SHAPES = [(7, 5), (33,), (), (12, 4), (3,), (2, 3, 4)]
LR = 0.03


@dataclasses.dataclass(frozen=True, kw_only=True)
class Delta:
    """A torch expression, the obvious optax choice for it, and how far their results differ.

    Args:
        theme: The section of the table.
        torch: The torch expression, as shown.
        optax: The optax expression, as shown.
        difference: The recorded difference, measured with torch 2.13 and optax 0.2.8.
        why: The reason for the difference.
        measure: Runs both and returns the difference.
    """

    theme: str
    torch: str
    optax: str
    difference: float
    why: str
    measure: Callable[[], float]

    @property
    def name(self) -> str:
        return f"{self.torch} -> {self.optax}"

    def agrees(self, measured: float) -> bool:
        """Whether a measurement is within 1 % of the recorded difference.

        Differences due to float32 rounding may vary by a factor of ten, and a difference recorded
        as float64 rounding must stay below `ROUNDING`.
        """
        if self.difference <= ROUNDING:
            return measured <= ROUNDING
        factor = 10 if self.difference < 1e-5 else 1.01
        return self.difference / factor <= measured <= self.difference * factor


# --- measures -------------------------------------------------------------------------------------


def problem(shapes: Sequence[tuple[int, ...]] = tuple(SHAPES)) -> Any:
    return runs.problem(0, STEPS, ["float64"] * len(shapes), shapes)


def trained(tx: Any, params: Any, grads: Any) -> list[np.ndarray]:
    """Return the parameters after all steps of an optax transformation."""

    def body(carry: Any, grads: Any) -> Any:
        params, state = carry
        updates, state = tx.update(grads, state, params)
        return (optax.apply_updates(params, updates), state), None

    @jax.jit
    def run(params: Any, grads: Any) -> Any:
        return jax.lax.scan(body, (params, tx.init(params)), grads)[0][0]

    stacked = [jnp.stack(leaf) for leaf in zip(*grads, strict=True)]
    return [np.asarray(p) for p in run([jnp.asarray(p) for p in params], stacked)]


def optimizer(
    cls: Any,
    options: Mapping[str, Any],
    make: Callable[[float], Any],
    shapes: Sequence[tuple[int, ...]] | None = None,
    has_gradient: Callable[[int, int], bool] = lambda step, leaf: True,
) -> float:
    """Return the difference after 100 steps, relative to the largest displacement.

    A leaf without a gradient in a step has None in torch and zeros in optax.
    """
    params, grads = problem(shapes or SHAPES)
    leaves = [torch.tensor(p, requires_grad=True) for p in params]
    torch_optimizer = cls(leaves, lr=LR, **options)
    optax_grads = []
    for i, step in enumerate(grads):
        present = [has_gradient(i, k) for k in range(len(step))]
        for leaf, grad, on in zip(leaves, step, present, strict=True):
            leaf.grad = torch.tensor(grad) if on else None
        torch_optimizer.step()
        optax_grads.append([g * on for g, on in zip(step, present, strict=True)])
    expected = [leaf.detach().numpy() for leaf in leaves]
    return runs.relative_difference(trained(make(LR), params, optax_grads), expected, params)


def sparse() -> float:
    """Compare SparseAdam and `optax.adam` on a table in which two rows per step have a gradient."""
    params, grads = problem([(12, 4)])
    rows = np.random.default_rng(0).integers(0, 12, (STEPS, 2))
    leaf = torch.tensor(params[0], requires_grad=True)
    torch_optimizer = torch.optim.SparseAdam([leaf], lr=LR)
    optax_grads = []
    for at, (grad,) in zip(rows, grads, strict=True):
        dense = np.zeros_like(grad)
        dense[at] = grad[at]
        once = np.unique(at)
        leaf.grad = torch.sparse_coo_tensor(
            torch.tensor(once)[None], torch.tensor(dense[once]), leaf.shape, check_invariants=True
        )
        torch_optimizer.step()
        optax_grads.append([dense])
    result = trained(optax.adam(LR), params, optax_grads)
    return runs.relative_difference(result, [leaf.detach().numpy()], params)


def lbfgs(options: dict[str, Any], make: Callable[[], Any], steps: int) -> float:
    """Compare L-BFGS on a quadratic, with one iteration per step as in optax."""
    scale = np.exp(np.random.default_rng(0).standard_normal(8))
    leaf = torch.ones(8, dtype=torch.float64, requires_grad=True)
    torch_optimizer, tx = torch.optim.LBFGS([leaf], max_iter=1, **options), make()

    def closure() -> Any:
        torch_optimizer.zero_grad()
        value = (torch.tensor(scale) * leaf**2).sum()
        value.backward()
        return value

    def fun(x: Any) -> Any:
        return jnp.sum(scale * x**2)

    x, state = jnp.ones(8), tx.init(jnp.ones(8))
    for _ in range(steps):
        torch_optimizer.step(closure)
        value, grad = jax.value_and_grad(fun)(x)
        updates, state = tx.update(grad, state, x, value=value, grad=grad, value_fn=fun)
        x = optax.apply_updates(x, updates)
    return runs.relative_difference([np.asarray(x)], [leaf.detach().numpy()], [np.ones(8)])


def frozen(mask: list[bool]) -> float:
    """Compare `requires_grad=False` and `optax.masked`, relative to the largest displacement."""
    params, grads = problem([(3,), (4,)])
    leaves = [torch.tensor(p, requires_grad=on) for p, on in zip(params, mask, strict=True)]
    torch_optimizer = torch.optim.SGD([leaf for leaf in leaves if leaf.requires_grad], lr=LR)
    for step in grads:
        for leaf, grad in zip(leaves, step, strict=True):
            leaf.grad = torch.tensor(grad) if leaf.requires_grad else None
        torch_optimizer.step()
    expected = [leaf.detach().numpy() for leaf in leaves]
    result = trained(optax.masked(optax.sgd(LR), mask), params, grads)
    return runs.relative_difference(result, expected, params)


def clipped(norm: float, max_norm: float, norm_type: float = 2.0) -> float:
    """Clip gradients of norm `norm` and return the difference relative to the largest gradient."""
    grads = [np.linspace(-1, 1, 7), np.linspace(2, 3, 4)]
    total = np.linalg.norm([np.linalg.norm(g, norm_type) for g in grads], norm_type)
    grads = [g * (norm / total) for g in grads]
    leaves = [torch.zeros(g.shape, dtype=torch.float64, requires_grad=True) for g in grads]
    for leaf, grad in zip(leaves, grads, strict=True):
        leaf.grad = torch.tensor(grad)
    torch.nn.utils.clip_grad_norm_(leaves, max_norm, norm_type)
    expected = [leaf.grad.numpy() for leaf in leaves if leaf.grad is not None]
    clip = optax.clip_by_global_norm(max_norm)
    result: Any = clip.update([jnp.asarray(g) for g in grads], optax.EmptyState())[0]
    start = [0 * g for g in grads]
    return runs.relative_difference([np.asarray(x) for x in result], expected, start)


def schedule(make: Callable[[Any], Any], make_optax: Callable[[], Any]) -> float:
    """Return the largest learning rate difference in 300 steps that start from a rate of 1."""
    sgd = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
    scheduler = make(sgd)
    compiled = jax.jit(make_optax())  # a training step calls it under jit with an int32 count
    differences = []
    for step in range(EPOCHS):
        rate = float(compiled(jnp.asarray(step, np.int32)))
        differences.append(abs(sgd.param_groups[0]["lr"] - rate))
        sgd.step()
        with warnings.catch_warnings(action="ignore"):  # SequentialLR warns about its own call
            scheduler.step()
    return max(differences)


def plateau() -> float:
    """Return the largest learning rate difference for a loss that falls twice and then stalls."""
    sgd = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
    scheduler = torch.optim.lr_scheduler.ReduceLROnPlateau(sgd, factor=0.5, patience=3)
    tx: Any = optax.contrib.reduce_on_plateau(factor=0.5, patience=3)
    state, differences = tx.init(jnp.zeros(1)), []
    for loss in [3.0, 2.0] + [1.0] * 12:
        scheduler.step(loss)
        _, state = tx.update(jnp.zeros(1), state, value=loss)
        differences.append(abs(sgd.param_groups[0]["lr"] - float(state.scale)))
    return max(differences)


# --- rows -----------------------------------------------------------------------------------------


def _alternating(step: int, leaf: int) -> bool:
    return (step + leaf) % 3 > 0


def _of(record: Optimizer, other: Counterpart) -> Delta:
    """Return the table row of an optimizer's optax counterpart."""
    shown = ", ".join(f"{k}={v}" for k, v in other.options.items())
    return Delta(
        theme="optimizers",
        torch=f"{record.torch.__name__}({shown})",
        optax=other.optax,
        difference=other.difference,
        why=other.why,
        measure=functools.partial(optimizer, record.torch, other.options, other.make, other.shapes),
    )


scheduler = torch.optim.lr_scheduler
DELTAS = [
    *(_of(record, other) for record in OPTIMIZERS.values() for other in record.counterparts),
    Delta(
        theme="optimizers",
        torch="SparseAdam()",
        optax="adam, zeros in the other rows",
        difference=0.8547,
        why="torch does not change a row without a gradient; in optax stale moments move it",
        measure=sparse,
    ),
    Delta(
        theme="optimizers",
        torch="LBFGS(max_iter=1)",
        optax="lbfgs(linesearch=None)",
        difference=0.006039,
        why="torch scales the first step by the 1-norm of the gradient, optax by the 2-norm",
        measure=lambda: lbfgs(dict(lr=0.1), lambda: optax.lbfgs(0.1, linesearch=None), 20),
    ),
    Delta(
        theme="optimizers",
        torch='LBFGS(max_iter=1, line_search_fn="strong_wolfe")',
        optax="lbfgs",
        difference=0.03526,
        why="the line searches and their first trial steps differ",
        measure=lambda: lbfgs(dict(line_search_fn="strong_wolfe"), optax.lbfgs, 3),
    ),
    Delta(
        theme="None",
        torch="SGD(momentum=0.9, weight_decay=0.1)",
        optax="chain(add_decayed_weights, sgd), None written as zeros",
        difference=0.2429,
        why="a None gradient changes neither parameter nor momentum; a zero gradient decays both",
        measure=lambda: optimizer(
            torch.optim.SGD,
            dict(momentum=0.9, weight_decay=0.1),
            lambda lr: optax.chain(optax.add_decayed_weights(0.1), optax.sgd(lr, 0.9)),
            has_gradient=_alternating,
        ),
    ),
    Delta(
        theme="None",
        torch="AdamW(weight_decay=0.1)",
        optax="adamw(weight_decay), None written as zeros",
        difference=0.2778,
        why="as above, and torch counts the steps of each parameter separately",
        measure=lambda: optimizer(
            torch.optim.AdamW,
            dict(weight_decay=0.1),
            lambda lr: optax.adamw(lr, weight_decay=0.1),
            has_gradient=_alternating,
        ),
    ),
    Delta(
        theme="None",
        torch="requires_grad_(False)",
        optax="masked(sgd, mask)",
        difference=0.3768,
        why="`optax.masked` passes masked-out gradients through, and they are added",
        measure=lambda: frozen([True, False]),
    ),
    Delta(
        theme="clipping",
        torch="clip_grad_norm_(1), norm 31",
        optax="clip_by_global_norm(1)",
        difference=3.2e-08,
        why="torch divides by the norm plus 1e-6",
        measure=lambda: clipped(31.0, 1.0),
    ),
    Delta(
        theme="clipping",
        torch="clip_grad_norm_(1e-6), norm 1e-6",
        optax="clip_by_global_norm(1e-6)",
        difference=1.0,
        why="the added 1e-6 halves a gradient of that norm",
        measure=lambda: clipped(1e-6, 1e-6),
    ),
    Delta(
        theme="clipping",
        torch="clip_grad_norm_(1, norm_type=inf), norm 31",
        optax="clip_by_global_norm(1)",
        difference=0.4397,
        why="optax supports only the 2-norm",
        measure=lambda: clipped(31.0, 1.0, math.inf),
    ),
    Delta(
        theme="schedules",
        torch="ExponentialLR(gamma=0.99)",
        optax="exponential_decay",
        difference=3.7e-07,
        why="optax computes in float32",
        measure=lambda: schedule(
            lambda sgd: scheduler.ExponentialLR(sgd, gamma=0.99),
            lambda: optax.exponential_decay(1.0, 1, 0.99),
        ),
    ),
    Delta(
        theme="schedules",
        torch="StepLR(step_size=41, gamma=0.1)",
        optax="exponential_decay(staircase=True)",
        difference=0.9,
        why="XLA multiplies by 1/41, so the floor comes one step late at some multiples",
        measure=lambda: schedule(
            lambda sgd: scheduler.StepLR(sgd, step_size=41, gamma=0.1),
            lambda: optax.exponential_decay(1.0, 41, 0.1, staircase=True),
        ),
    ),
    Delta(
        theme="schedules",
        torch="CosineAnnealingLR(T_max=100)",
        optax="cosine_decay_schedule(decay_steps=100)",
        difference=1.0,
        why="torch goes up again after T_max",
        measure=lambda: schedule(
            lambda sgd: scheduler.CosineAnnealingLR(sgd, T_max=100),
            lambda: optax.cosine_decay_schedule(1.0, 100),
        ),
    ),
    Delta(
        theme="schedules",
        torch="OneCycleLR(max_lr=1.0, total_steps=301)",
        optax="cosine_onecycle_schedule",
        difference=0.00682,
        why="torch peaks one step earlier, at pct_start * total_steps - 1",
        measure=lambda: schedule(
            lambda sgd: scheduler.OneCycleLR(sgd, max_lr=1.0, total_steps=301),
            lambda: optax.cosine_onecycle_schedule(301, 1.0),
        ),
    ),
    Delta(
        theme="schedules",
        torch="LinearLR(start_factor=0.25, total_iters=50)",
        optax="linear_schedule(0.25, 1, 50)",
        difference=4.8e-08,
        why="optax computes in float32",
        measure=lambda: schedule(
            lambda sgd: scheduler.LinearLR(sgd, start_factor=0.25, total_iters=50),
            lambda: optax.linear_schedule(0.25, 1.0, 50),
        ),
    ),
    Delta(
        theme="schedules",
        torch="ReduceLROnPlateau(patience=3)",
        optax="contrib.reduce_on_plateau(patience=3)",
        difference=0.5,
        why="optax reduces the rate one step early",
        measure=plateau,
    ),
]


def table(measured: Sequence[tuple[Delta, float]]) -> str:
    """Format rows and their measured differences as Markdown."""
    lines = [
        "# torch.optim and the obvious optax choice",
        "Generated by `python -m parity_tests.audits.optax_deltas --markdown`, with torch "
        f"{torch.__version__} and optax {optax.__version__}, in float64. Difference: after {STEPS} "
        "steps (L-BFGS: 20 and 3) on parameters of mixed shapes, the largest difference, relative "
        "to the largest displacement; for clipping relative to the largest gradient, for schedules "
        "to the base learning rate.",
    ]
    for theme in dict.fromkeys(delta.theme for delta, _ in measured):
        head = [f"## {theme}\n\n| torch | optax | difference | why |", "|---|---|---|---|"]
        body = [
            f"| `{d.torch}` | `{d.optax}` | {_number(d.difference if d.agrees(x) else x)} | "
            f"{d.why} |"
            for d, x in measured
            if d.theme == theme
        ]
        lines.append("\n".join(head + body))
    return "\n\n".join(lines) + "\n"


def _number(x: float) -> str:
    return "rounding" if x <= ROUNDING else f"{x:.2g}"


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("patterns", nargs="*", metavar="PATTERN", help="part of a row's name")
    parser.add_argument("--markdown", type=pathlib.Path, metavar="FILE")
    options = parser.parse_args(argv)
    configure()
    patterns = [p.lower() for p in options.patterns]
    chosen = [d for d in DELTAS if not patterns or any(p in d.name.lower() for p in patterns)]
    measured = []
    for delta in chosen:
        difference = delta.measure()
        note = "" if delta.agrees(difference) else f"  CHANGED, was {delta.difference:.4g}"
        print(f"{difference:.4g}  {delta.name}{note}", flush=True)
        measured.append((delta, difference))
    if options.markdown:
        options.markdown.write_text(table(measured))
    failed = sum(not delta.agrees(difference) for delta, difference in measured)
    print(f"{len(measured) - failed} passed, {failed} failed")
    return 1 if failed or not measured else 0


if __name__ == "__main__":
    sys.exit(main())
