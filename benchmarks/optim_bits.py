"""Measure which bits `exact=True` shares with the installed torch, and say why some differ.

    python -m benchmarks.optim_bits [--markdown F] [NAME ...]

With a correctly rounded square root in torch all bits agree (`tests/jaxgrad/optim`). Stock torch
takes the square root from MKL, which is sometimes off by one ULP and explains the remaining
differences. MKL's code depends on the CPU, so there is a table for each of its instruction sets.
"""

from __future__ import annotations

import argparse
import os
import pathlib
import platform
import subprocess
import sys
from collections.abc import Mapping
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
SHAPES = [*runs.SHAPES, (1000,)]
HALF = len(SHAPES)
DTYPES = {"float32": slice(0, HALF), "float64": slice(HALF, None)}
# The values of MKL_ENABLE_INSTRUCTIONS. MKL ignores a set that the CPU does not have.
INSTRUCTION_SETS = ("AVX512", "AVX2", "SSE4_2")


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


def shared(jax: list[np.ndarray], torch: list[np.ndarray]) -> tuple[float, float, float]:
    """Return the share of bit-identical numbers and the largest difference in two units.

    The first unit is one ULP of the array's largest element, the second one ULP of the element.
    """
    pairs = [(a, b) for a, b in zip(jax, torch, strict=True) if b.size]
    same = sum(int(np.sum(a == b)) for a, b in pairs)
    array = [float(np.max(np.abs(a - b))) / spacing(scale_of(b), b.dtype) for a, b in pairs]
    element = [float(np.max(np.abs(a - b) / np.spacing(np.abs(b)))) for a, b in pairs]
    return same / sum(b.size for _, b in pairs), max(array), max(element)


def cell(share: float, array: float, element: float) -> str:
    return "all" if share == 1 else f"{100 * share:.4g} %, {array:.2g}, {element:.0f}"


def row(name: str, options: Mapping[str, Any]) -> str:
    """Compare one configuration in both dtypes and format it as a table row."""
    options = {"lr": 0.03, **options}
    dtypes = [dtype for dtype in DTYPES for _ in SHAPES]
    params, grads = runs.problem(0, max(STEPS), dtypes, SHAPES)
    ours = in_jax(ELEMENTWISE[name].make(**options, exact=True), params, grads)
    stock = in_torch(name, options, params, grads)
    with runs.ieee_sqrt():
        ieee = in_torch(name, options, params, grads)
    cells = [
        cell(*shared(ours[step][part], stock[step][part]))
        for part in DTYPES.values()
        for step in STEPS
    ]
    differs = any(shared(ours[s], stock[s])[0] < 1 for s in STEPS)
    other = any(shared(ours[s], ieee[s])[0] < 1 for s in STEPS)
    cause = "not only the square root" if other else "torch's square root" if differs else ""
    shown = ", ".join(f"{k}={v}" for k, v in options.items())
    return f"| {name} | {shown} | {' | '.join(cells)} | {cause} |"


def table(names: list[str]) -> None:
    """Print the table for the instruction set of this process."""
    configure()
    heads = [f"{dtype}, {step}" for dtype in DTYPES for step in STEPS]
    print(f"| optimizer | options | {' | '.join(heads)} | cause |")
    print("|---" * (3 + len(heads)) + "|")
    for name, record in ELEMENTWISE.items():
        for options in record.configurations if not names or name in names else ():
            print(row(name, options), flush=True)


def page(names: list[str]) -> str:
    """Measure the table for each instruction set, in a process of its own, and return the page."""
    parts = [HEAD.format(torch=torch.__version__, jax=jax.__version__, cpu=processor())]
    for name in INSTRUCTION_SETS:
        command = [sys.executable, "-m", "benchmarks.optim_bits", "--table", *names]
        environment = {**os.environ, "MKL_ENABLE_INSTRUCTIONS": name}
        printed = subprocess.check_output(command, env=environment, text=True)
        parts.append(f"## {name}\n\n{printed}")
    return "\n".join(parts)


def processor() -> str:
    """Return the vendor and the architecture of the CPU, with the vector instructions of torch."""
    info = pathlib.Path("/proc/cpuinfo")
    lines = info.read_text().splitlines() if info.exists() else []
    vendors = [line.partition(":")[2].strip() for line in lines if line.startswith("vendor_id")]
    vendor, capability = (vendors or ["a CPU"])[0], torch.backends.cpu.get_cpu_capability()
    return f"{vendor} {platform.machine()} with {capability}"


HEAD = """\
# Bits shared with stock torch

torch {torch} on {cpu}, jax {jax}. Each heading names the instruction set that
`MKL_ENABLE_INSTRUCTIONS` selected. The columns are the number of steps. `all`: every number has
torch's bits. Otherwise a cell gives the share of numbers with torch's bits, then the largest
difference in two units: one ULP of the array's largest element, and one ULP of the element itself.
The second count is large where an element is close to zero.
"""


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").partition("\n")[0])
    parser.add_argument("names", nargs="*", metavar="NAME")
    parser.add_argument("--markdown", type=pathlib.Path)
    parser.add_argument("--table", action="store_true", help="measure in this process alone")
    args = parser.parse_args()
    if args.table:
        table(args.names)
    elif args.markdown:
        args.markdown.write_text(page(args.names))
    else:
        print(page(args.names))


if __name__ == "__main__":
    main()
