"""Where the obvious optax choice leaves torch, and how far: measured, and pinned.

python -m parity_tests.audits.optax_deltas                                       every row
python -m parity_tests.audits.optax_deltas radam --markdown benchmarks/OPTIM_DELTAS.md
"""

import argparse
import functools
import math
import pathlib
import sys
import warnings
from collections.abc import Callable, Iterator, Sequence
from typing import Any, NamedTuple

import jax
import jax.numpy as jnp
import numpy as np
import optax
import torch

from parity_tests.audits import optimizer_runs as optimizers
from parity_tests.runner.settings import configure


STEPS, EPOCHS = 100, 300
ROUNDING = 1e-11  # what is pinned as nothing
SHAPES = [(7, 5), (33,), (), (12, 4), (3,), (2, 3, 4)]
LR = 0.03


class Delta(NamedTuple):
    """One choice: torch's, optax's, how far apart they end, and why."""

    theme: str
    torch: str
    optax: str
    apart: float  # pinned: as measured with torch 2.13 and optax 0.2.8
    why: str
    measure: Callable[[], float]

    @property
    def name(self) -> str:
        return f"{self.torch} -> {self.optax}"

    def agrees(self, found: float) -> bool:
        """Within 1 % of what is pinned; float32 rounding within ten times; nothing is nothing."""
        if self.apart <= ROUNDING:
            return found <= ROUNDING
        factor = 10 if self.apart < 1e-5 else 1.01
        return self.apart / factor <= found <= self.apart * factor


# --- measures -------------------------------------------------------------------------------------


def problem(shapes: Sequence[tuple[int, ...]] = tuple(SHAPES)) -> Any:
    return optimizers.problem(0, STEPS, ["float64"] * len(shapes), shapes)


def trained(tx: Any, params: Any, grads: Any) -> list[np.ndarray]:
    """The parameters after all steps of an optax transformation."""

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
    cls: Any, options: dict[str, Any], tx: Any, shapes: Any = tuple(SHAPES), live: Any = None
) -> float:
    """Of the displacement after 100 steps; a gradient that is not live is None in torch, else 0."""
    params, grads = problem(shapes)
    leaves = [torch.tensor(p, requires_grad=True) for p in params]
    theirs = cls(leaves, **options)
    given = []
    for i, step in enumerate(grads):
        alive = [live is None or live(i, k) for k in range(len(step))]
        for leaf, grad, on in zip(leaves, step, alive, strict=True):
            leaf.grad = torch.tensor(grad) if on else None
        theirs.step()
        given.append([g * on for g, on in zip(step, alive, strict=True)])
    expected = [leaf.detach().numpy() for leaf in leaves]
    return optimizers.apart(trained(tx, params, given), expected, params)


def sparse() -> float:
    """A table of which two rows have a gradient in each step."""
    params, grads = problem([(12, 4)])
    rows = np.random.default_rng(0).integers(0, 12, (STEPS, 2))
    leaf = torch.tensor(params[0], requires_grad=True)
    theirs = torch.optim.SparseAdam([leaf], lr=LR)
    given = []
    for at, (grad,) in zip(rows, grads, strict=True):
        dense = np.zeros_like(grad)
        dense[at] = grad[at]
        once = np.unique(at)
        leaf.grad = torch.sparse_coo_tensor(
            torch.tensor(once)[None], torch.tensor(dense[once]), leaf.shape, check_invariants=True
        )
        theirs.step()
        given.append([dense])
    return optimizers.apart(trained(optax.adam(LR), params, given), [leaf.detach().numpy()], params)


def lbfgs(options: dict[str, Any], tx: Any, steps: int) -> float:
    """A quadratic; one iteration a step, as optax has it."""
    scale = np.exp(np.random.default_rng(0).standard_normal(8))
    leaf = torch.ones(8, dtype=torch.float64, requires_grad=True)
    theirs = torch.optim.LBFGS([leaf], max_iter=1, **options)

    def closure() -> Any:
        theirs.zero_grad()
        value = (torch.tensor(scale) * leaf**2).sum()
        value.backward()
        return value

    def fun(x: Any) -> Any:
        return jnp.sum(scale * x**2)

    x, state = jnp.ones(8), tx.init(jnp.ones(8))
    for _ in range(steps):
        theirs.step(closure)
        value, grad = jax.value_and_grad(fun)(x)
        updates, state = tx.update(grad, state, x, value=value, grad=grad, value_fn=fun)
        x = optax.apply_updates(x, updates)
    return optimizers.apart([np.asarray(x)], [leaf.detach().numpy()], [np.ones(8)])


def frozen(tx: Any, mask: Any) -> float:
    """How far `requires_grad=False` and `optax.masked` are apart, of what the other ones move."""
    params, grads = problem([(3,), (4,)])
    leaves = [torch.tensor(p, requires_grad=on) for p, on in zip(params, mask, strict=True)]
    theirs = torch.optim.SGD([leaf for leaf in leaves if leaf.requires_grad], lr=LR)
    for step in grads:
        for leaf, grad in zip(leaves, step, strict=True):
            leaf.grad = torch.tensor(grad) if leaf.requires_grad else None
        theirs.step()
    expected = [leaf.detach().numpy() for leaf in leaves]
    return optimizers.apart(trained(optax.masked(tx, mask), params, grads), expected, params)


def clipped(norm: float, max_norm: float, norm_type: float = 2.0) -> float:
    """Gradients of that norm, clipped; the difference relative to the largest."""
    grads = [np.linspace(-1, 1, 7), np.linspace(2, 3, 4)]
    total = np.linalg.norm([np.linalg.norm(g, norm_type) for g in grads], norm_type)
    grads = [g * (norm / total) for g in grads]
    leaves = [torch.zeros(g.shape, dtype=torch.float64, requires_grad=True) for g in grads]
    for leaf, grad in zip(leaves, grads, strict=True):
        leaf.grad = torch.tensor(grad)
    torch.nn.utils.clip_grad_norm_(leaves, max_norm, norm_type)
    expected = [leaf.grad.numpy() for leaf in leaves if leaf.grad is not None]
    given = [jnp.asarray(g) for g in grads]
    ours: Any = optax.clip_by_global_norm(max_norm).update(given, optax.EmptyState())[0]
    return optimizers.apart([np.asarray(x) for x in ours], expected, [0 * g for g in grads])


def schedule(make: Callable[[Any], Any], theirs: Any, epochs: int = EPOCHS) -> float:
    """The largest difference over 300 steps, of a base rate of 1."""
    sgd = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
    scheduler, compiled = make(sgd), jax.jit(theirs)  # as in a training step, which counts in int32
    off = []
    for step in range(epochs):
        off.append(abs(sgd.param_groups[0]["lr"] - float(compiled(jnp.asarray(step, np.int32)))))
        sgd.step()
        with warnings.catch_warnings(action="ignore"):  # of SequentialLR, about its own call
            scheduler.step()
    return max(off)


def plateau() -> float:
    """A loss that falls twice and then stays."""
    sgd = torch.optim.SGD([torch.zeros(1, requires_grad=True)], lr=1.0)
    theirs = torch.optim.lr_scheduler.ReduceLROnPlateau(sgd, factor=0.5, patience=3)
    ours: Any = optax.contrib.reduce_on_plateau(factor=0.5, patience=3)
    state, off = ours.init(jnp.zeros(1)), []
    for loss in [3.0, 2.0] + [1.0] * 12:
        theirs.step(loss)
        _, state = ours.update(jnp.zeros(1), state, value=loss)
        off.append(abs(sgd.param_groups[0]["lr"] - float(state.scale)))
    return max(off)


# --- rows -----------------------------------------------------------------------------------------


def _rows() -> Iterator[Delta]:
    chain, decayed, to = optax.chain, optax.add_decayed_weights, torch.optim

    def row(
        cls: Any, options: dict[str, Any], name: str, tx: Any, apart: float, why: str, **kwargs: Any
    ) -> Delta:
        shown = ", ".join(f"{k}={v}" for k, v in options.items())
        measure = functools.partial(optimizer, cls, dict(lr=LR, **options), tx, **kwargs)
        return Delta("optimizers", f"{cls.__name__}({shown})", name, apart, why, measure)

    same = "the same numbers, up to rounding"
    yield row(to.SGD, {}, "sgd", optax.sgd(LR), 0, same)
    yield row(
        to.SGD, dict(momentum=0.9, weight_decay=0.1), "chain(add_decayed_weights, sgd)",
        chain(decayed(0.1), optax.sgd(LR, 0.9)), 0, same,
    )  # fmt: skip
    yield row(
        to.SGD, dict(momentum=0.9, nesterov=True), "sgd(nesterov=True)",
        optax.sgd(LR, 0.9, nesterov=True), 0, same,
    )  # fmt: skip
    yield row(
        to.SGD, dict(momentum=0.9, dampening=0.3), "chain(scale(1 - dampening), sgd)",
        chain(optax.scale(0.7), optax.sgd(LR, 0.9)), 0.0313,
        "torch's first buffer is the raw gradient: it dampens from the second step on",
    )  # fmt: skip
    yield row(
        to.SGD, dict(maximize=True), "sgd", optax.sgd(LR), 2,
        "optax has no maximize: negate the gradient, before the decay is added",
    )  # fmt: skip
    yield row(to.Adam, {}, "adam", optax.adam(LR), 0, same)
    yield row(
        to.Adam, dict(weight_decay=0.1), "adamw(weight_decay)", optax.adamw(LR, weight_decay=0.1),
        1.194, "torch's Adam adds the decay to the gradient; AdamW decays the parameters",
    )  # fmt: skip
    yield row(
        to.Adam, dict(weight_decay=0.1), "chain(add_decayed_weights, adam)",
        chain(decayed(0.1), optax.adam(LR)), 0, same,
    )  # fmt: skip
    yield row(
        to.Adam, dict(amsgrad=True), "amsgrad", optax.amsgrad(LR), 0.4265,
        "torch keeps the largest raw second moment, optax the largest corrected one",
    )  # fmt: skip
    yield row(
        to.AdamW, {}, "adamw", optax.adamw(LR), 0.0611,
        "the defaults: torch decays by 1e-2, optax by 1e-4",
    )  # fmt: skip
    yield row(
        to.AdamW, dict(weight_decay=0.1), "adamw(weight_decay)", optax.adamw(LR, weight_decay=0.1),
        0, same,
    )  # fmt: skip
    yield row(to.Adamax, {}, "adamax", optax.adamax(LR), 0, same)
    yield row(to.Adadelta, {}, "adadelta", optax.adadelta(LR), 0, same)
    yield row(
        to.NAdam, {}, "nadam", optax.nadam(LR), 0.1269,
        "torch has a schedule of the momentum, and its product in the correction",
    )  # fmt: skip
    yield row(
        to.RAdam, {}, "radam", optax.radam(LR), 7.3e-07,
        "torch adds eps before the second moment is corrected",
    )  # fmt: skip
    yield row(
        to.RMSprop, {}, "rmsprop", optax.rmsprop(LR), 0.5515,
        "the defaults: decay 0.99 against 0.9, eps outside of the root against inside",
    )  # fmt: skip
    yield row(
        to.RMSprop, {}, "rmsprop(decay=0.99)", optax.rmsprop(LR, 0.99), 0.1479,
        "eps is outside of the root in torch, inside in optax",
    )  # fmt: skip
    yield row(
        to.RMSprop, dict(centered=True), "rmsprop(decay=0.99, eps_in_sqrt=False, centered=True)",
        optax.rmsprop(LR, 0.99, eps_in_sqrt=False, centered=True), 0, same,
    )  # fmt: skip
    yield row(
        to.Adagrad, {}, "adagrad", optax.adagrad(LR), 0.8826,
        "optax starts with 0.1 in the accumulator, torch with 0; eps inside of the root",
    )  # fmt: skip
    yield row(
        to.Adagrad, dict(lr_decay=0.1), "adagrad(initial_accumulator_value=0)",
        optax.adagrad(LR, 0.0, 1e-10), 1.123, "optax has no lr_decay",
    )  # fmt: skip
    yield row(
        to.Rprop, {}, "rprop", optax.rprop(LR), 0.2704,
        "optax's update is that of the step before",
    )  # fmt: skip
    yield row(
        to.ASGD, dict(lambd=0.1), "sgd", optax.sgd(LR), 0.2566,
        "optax has none: torch's rate falls, it decays, and it averages",
    )  # fmt: skip
    yield row(
        to.Adafactor, {}, "adafactor", optax.adafactor(LR), 0.08357,
        "another relative step, decay exponent and clipping; optax factors large matrices only",
    )  # fmt: skip
    yield row(
        to.Muon, {}, "contrib.muon(weight_decay=0.1)", optax.contrib.muon(LR, weight_decay=0.1),
        0.3806, "torch iterates in bfloat16, rows are outputs, another momentum",
        shapes=[(7, 5), (12, 4), (4, 12)],
    )  # fmt: skip
    yield Delta(
        "optimizers", "SparseAdam()", "adam, zeros in the other rows", 0.8547,
        "torch leaves alone a row without a gradient; stale moments move it in optax", sparse,
    )  # fmt: skip
    yield Delta(
        "optimizers", "LBFGS(max_iter=1)", "lbfgs(linesearch=None)", 0.006039,
        "the first step is scaled by the 1-norm of the gradient in torch, by the 2-norm in optax",
        functools.partial(lbfgs, dict(lr=0.1), optax.lbfgs(0.1, linesearch=None), 20),
    )  # fmt: skip
    yield Delta(
        "optimizers", 'LBFGS(max_iter=1, line_search_fn="strong_wolfe")', "lbfgs", 0.03526,
        "another line search, from another first step",
        functools.partial(lbfgs, dict(line_search_fn="strong_wolfe"), optax.lbfgs(), 3),
    )  # fmt: skip

    def sometimes(step: int, leaf: int) -> bool:
        return (step + leaf) % 3 > 0

    zeros = ", None written as zeros"
    yield row(
        to.SGD, dict(momentum=0.9, weight_decay=0.1), "chain(add_decayed_weights, sgd)" + zeros,
        chain(decayed(0.1), optax.sgd(LR, 0.9)), 0.2429,
        "a None gradient leaves parameter and momentum alone; a zero decays and drifts",
        live=sometimes,
    )._replace(theme="None")  # fmt: skip
    yield row(
        to.AdamW, dict(weight_decay=0.1), "adamw(weight_decay)" + zeros,
        optax.adamw(LR, weight_decay=0.1), 0.2778,
        "as above; and torch counts the steps of each parameter by itself", live=sometimes,
    )._replace(theme="None")  # fmt: skip
    yield Delta(
        "None", "requires_grad_(False)", "masked(sgd, mask)", 0.3768,
        "`optax.masked` hands the raw gradient of what it masks out on: it is added",
        functools.partial(frozen, optax.sgd(LR), [True, False]),
    )  # fmt: skip

    clip, by_norm = "clip_grad_norm_", "clip_by_global_norm"
    yield Delta(
        "clipping", f"{clip}(1), norm 31", f"{by_norm}(1)", 3.2e-08,
        "torch divides by the norm plus 1e-6", functools.partial(clipped, 31.0, 1.0),
    )  # fmt: skip
    yield Delta(
        "clipping", f"{clip}(1e-6), norm 1e-6", f"{by_norm}(1e-6)", 1,
        "which halves a gradient of that norm", functools.partial(clipped, 1e-6, 1e-6),
    )  # fmt: skip
    yield Delta(
        "clipping", f"{clip}(1, norm_type=inf), norm 31", f"{by_norm}(1)", 0.4397,
        "optax has the 2-norm only", functools.partial(clipped, 31.0, 1.0, math.inf),
    )  # fmt: skip

    def rates(name: str, options: Any, shown: str, theirs: Any, apart: float, why: str) -> Delta:
        make = functools.partial(getattr(to.lr_scheduler, name), **options)
        text = ", ".join(f"{k}={v}" for k, v in options.items())
        measure = functools.partial(schedule, make, theirs)
        return Delta("schedules", f"{name}({text})", shown, apart, why, measure)

    yield rates(
        "ExponentialLR", dict(gamma=0.99), "exponential_decay",
        optax.exponential_decay(1.0, 1, 0.99), 3.7e-07, "optax computes in float32",
    )  # fmt: skip
    yield rates(
        "StepLR", dict(step_size=41, gamma=0.1), "exponential_decay(staircase=True)",
        optax.exponential_decay(1.0, 41, 0.1, staircase=True), 0.9,
        "the floor of a product with 1/41, as XLA divides: a step late at some multiples",
    )  # fmt: skip
    yield rates(
        "CosineAnnealingLR", dict(T_max=100), "cosine_decay_schedule(decay_steps=100)",
        optax.cosine_decay_schedule(1.0, 100), 1, "torch goes up again past T_max",
    )  # fmt: skip
    yield rates(
        "OneCycleLR", dict(max_lr=1.0, total_steps=301), "cosine_onecycle_schedule",
        optax.cosine_onecycle_schedule(301, 1.0), 0.00682,
        "the boundaries: torch peaks at pct_start * total_steps - 1",
    )  # fmt: skip
    yield rates(
        "LinearLR", dict(start_factor=0.25, total_iters=50), "linear_schedule(0.25, 1, 50)",
        optax.linear_schedule(0.25, 1.0, 50), 4.8e-08, "optax computes in float32",
    )  # fmt: skip
    yield Delta(
        "schedules", "ReduceLROnPlateau(patience=3)", "contrib.reduce_on_plateau(patience=3)",
        0.5, "optax reduces a step early", plateau,
    )  # fmt: skip


DELTAS = tuple(_rows())


def table(found: Sequence[tuple[Delta, float]]) -> str:
    """The rows as Markdown."""
    lines = [
        "# torch.optim and the obvious optax choice",
        "Generated by `python -m parity_tests.audits.optax_deltas --markdown`, with torch "
        f"{torch.__version__} and optax {optax.__version__}, in float64. Apart: after {STEPS} "
        "steps (L-BFGS: 20 and 3) on parameters of mixed shapes, the largest difference over the "
        "largest displacement; of "
        "clipping over the largest gradient, of schedules over the base rate.",
    ]
    for theme in dict.fromkeys(delta.theme for delta, _ in found):
        head = [f"## {theme}\n\n| torch | optax | apart | why |", "|---|---|---|---|"]
        body = [
            f"| `{d.torch}` | `{d.optax}` | {_number(d.apart if d.agrees(x) else x)} | {d.why} |"
            for d, x in found
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
    found = []
    for delta in chosen:
        apart = delta.measure()
        moved = "" if delta.agrees(apart) else f"  MOVED, was {delta.apart:.4g}"
        print(f"{apart:.4g}  {delta.name}{moved}", flush=True)
        found.append((delta, apart))
    if options.markdown:
        options.markdown.write_text(table(found))
    failed = sum(not delta.agrees(apart) for delta, apart in found)
    print(f"{len(found) - failed} passed, {failed} failed")
    return 1 if failed or not found else 0


if __name__ == "__main__":
    sys.exit(main())
