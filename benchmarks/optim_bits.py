"""Measure which bits `exact=True` shares with the installed torch, and say why some differ.

    python -m benchmarks.optim_bits [--markdown F] [NAME ...]

With a correctly rounded square root in torch all bits agree (`tests/jaxgrad/optim`). Stock torch's
vectorised square root is sometimes off by one ULP, which explains the remaining differences.
"""

from __future__ import annotations

import argparse
import pathlib
import platform
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import torch

from jaxgrad.parity.ulp import scale_of, spacing
from parity_tests.audits import optimizer_runs as runs
from parity_tests.audits.optimizers import ELEMENTWISE
from parity_tests.runner.settings import configure


STEPS = (1, 10, 100)
HALF = len(runs.SHAPES)
DTYPES = {"float32": slice(0, HALF), "float64": slice(HALF, None)}


def in_jax(tx: Any, params: Any, grads: Any) -> dict[int, list[np.ndarray]]:
    """Return the parameters after 1, 10 and 100 steps of one compiled scan."""

    def body(carry: Any, grad: Any) -> Any:
        carry = tx.step(grad, carry[1], carry[0])
        return carry, carry[0]

    first = [jnp.asarray(p) for p in params]
    stacked = [jnp.stack([jnp.asarray(step[i]) for step in grads]) for i in range(len(first))]
    _, path = jax.jit(lambda p, g: jax.lax.scan(body, (p, tx.init(p)), g))(first, stacked)
    return {step: [np.asarray(x[step - 1]) for x in path] for step in STEPS}


def in_torch(name: str, options: Any, params: Any, grads: Any) -> dict[int, list[np.ndarray]]:
    options = {**options, "foreach": False}
    return {step: runs.run_torch(name, options, params, grads[:step])[0] for step in STEPS}


def shared(ours: list[np.ndarray], theirs: list[np.ndarray]) -> tuple[float, float]:
    """Return the share of bit-identical numbers and the largest difference, in the leaf's ULP."""
    same = sum(int(np.sum(a == b)) for a, b in zip(ours, theirs, strict=True))
    count = sum(b.size for b in theirs)
    off = [
        float(np.max(np.abs(a - b), initial=0.0)) / spacing(scale_of(b), b.dtype)
        for a, b in zip(ours, theirs, strict=True)
        if b.size
    ]
    return same / count, max(off)


def row(name: str, options: dict[str, Any]) -> str:
    """Compare one configuration in both dtypes and format it as a table row."""
    options = {"lr": 0.03, **options}
    params, grads = runs.problem(0, max(STEPS))
    ours = in_jax(ELEMENTWISE[name].make(**options, exact=True), params, grads)
    stock = in_torch(name, options, params, grads)
    with runs.ieee_sqrt():
        ieee = in_torch(name, options, params, grads)
    cells = []
    for part in DTYPES.values():
        for step in STEPS:
            share, ulp = shared(ours[step][part], stock[step][part])
            cells.append("all" if share == 1 else f"{share:.1%}, {ulp:.2g} ULP")
    differs = any(shared(ours[s], stock[s])[0] < 1 for s in STEPS)
    other = any(shared(ours[s], ieee[s])[0] < 1 for s in STEPS)
    cause = "not only the square root" if other else "torch's square root" if differs else ""
    shown = ", ".join(f"{k}={v}" for k, v in options.items())
    return f"| {name} | {shown} | {' | '.join(cells)} | {cause} |"


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--markdown", type=pathlib.Path)
    args = parser.parse_args()
    configure()
    heads = [f"{dtype}, {step}" for dtype in DTYPES for step in STEPS]
    lines = [
        f"torch {torch.__version__} with {torch.backends.cpu.get_cpu_capability()} on "
        f"{platform.machine()}, jax {jax.__version__}. `all`: after that many steps every number "
        "has torch's bits; else the share that has, and the largest difference in ULP of the leaf",
        "",
        f"| optimizer | options | {' | '.join(heads)} | cause |",
        "|---" * (3 + len(heads)) + "|",
    ]
    print("\n".join(lines))
    for name, record in ELEMENTWISE.items():
        for options in record.configurations if not args.names or name in args.names else ():
            lines.append(row(name, options))
            print(lines[-1], flush=True)
    if args.markdown:
        args.markdown.write_text("# Bits shared with stock torch\n\n" + "\n".join(lines) + "\n")


if __name__ == "__main__":
    main()
