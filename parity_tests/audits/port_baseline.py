"""Record what the ports of the collection cost: seconds to write, lines, names kept, flops.

python -m parity_tests.audits.port_baseline --json benchmarks/PORT_BASELINE.json
python -m parity_tests.audits.port_baseline llama gpt2    the modules whose names have this

The seconds are CPU time without a proof, as functions and as flax classes. The flops are XLA's
count for the value and the gradients of the sum of all outputs, in the module's own mode, before
XLA optimizes the program; null if the port cannot be traced. `benchmarks/PORT_COLLECTION.md` has
the seconds with a proof, and `benchmarks/PORT_SPEED.md` the flops of larger networks after
optimization.
"""

from __future__ import annotations

import argparse
import dataclasses
import json
import pathlib
import sys
import time
from collections.abc import Sequence
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from torch import nn

from jaxgrad.parity.interop import to_numpy
from jaxgrad.parity.port.port import Request, port, write_and_prove
from jaxgrad.parity.port.proof.ported import Ported
from jaxgrad.parity.port.proof.verifying import STYLES, silent
from jaxgrad.parity.port.source.refusals import PortError
from parity_tests.audits.golden_ports import versions
from parity_tests.audits.planted_bugs import each, names
from parity_tests.audits.port_collection import entries, example
from parity_tests.audits.port_readability import readability
from parity_tests.runner.settings import configure


def record(name: str) -> dict[str, Any]:
    """Return the record of a module: a number for each quantity, or the reason of a refusal."""
    for style in STYLES:  # what is imported and compiled once is no part of a module's seconds
        port(nn.Linear(2, 2), (np.ones((1, 2), np.float32),), prove=False, style=style)
    module, inputs, _ = example(name)
    request = Request(module, inputs, (), None, "functions", False, False, False, 0, silent, None)
    row: dict[str, Any] = {"module": name}
    for style in STYLES:
        start = time.process_time()
        try:
            ported = write_and_prove(dataclasses.replace(request, style=style))
        except PortError as error:
            row[f"refused as {style}"] = str(error).partition("\n")[0]
            continue
        row[f"seconds as {style}"] = round(time.process_time() - start, 2)
        row[f"lines as {style}"] = len(ported.source.splitlines())
        if style == "functions":
            measured = readability(module, ported.source)
            row |= {"lines of code": measured.port_lines, "of torch": measured.torch_lines}
            row |= {"names kept": measured.own_names, "of names": measured.names}
            row["flops"] = flops(ported, module, inputs)
    return row


def flops(ported: Ported, module: nn.Module, inputs: Any) -> float | None:
    """Return XLA's count for the value and the gradients of the sum of all outputs."""
    given = ported.proof_arguments(module.training and True in ported.modes, 0)
    leaves, structure = jax.tree.flatten(jax.tree.map(_single, given["params"]))
    flags = jax.tree.leaves(ported.trainable)
    trained = {n: x for n, (x, flag) in enumerate(zip(leaves, flags, strict=True)) if flag}
    arrays = jax.tree.map(_single, to_numpy(inputs))

    def loss(trained: Any, arrays: Any) -> jax.Array:
        params = structure.unflatten(trained.get(n, x) for n, x in enumerate(leaves))
        named = isinstance(arrays, dict)
        outputs = given["fn"](params, **arrays) if named else given["fn"](params, *arrays)
        results = jax.tree.leaves(outputs[0] if ported.has_state else outputs)
        return sum((jnp.sum(jnp.real(x)) for x in results), jnp.zeros(()))

    try:
        with jax.enable_x64(False):  # as a user runs the port, whose constants are then float32
            cost = jax.jit(jax.value_and_grad(loss)).lower(trained, arrays).cost_analysis()
    except Exception:  # an input is a setting, or the port reads values
        return None
    return float(cost["flops"])  # pyright: ignore[reportArgumentType, reportOptionalSubscript]


def _single(x: Any) -> Any:
    """Return an array as a user has it, in float32 instead of float64."""
    return np.asarray(x, np.float32) if getattr(x, "dtype", None) == np.float64 else x


def main(argv: Sequence[str] | None = None) -> int:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument("patterns", nargs="*", metavar="PATTERN", help="part of a module's name")
    parser.add_argument("--workers", type=int, default=1, metavar="N", help="use N processes")
    parser.add_argument("--json", type=pathlib.Path, help="write the records to this file")
    options = parser.parse_args(argv)
    configure()
    known = [*entries(), *(name for name in names() if name not in entries())]
    chosen = [n for n in known if not options.patterns or any(p in n for p in options.patterns)]
    rows = []
    for row in each(record, [(name,) for name in chosen], options.workers):
        print(json.dumps(row), flush=True)
        rows.append(row)
    if options.json:
        lines = ",\n".join(f"  {json.dumps(row)}" for row in rows)
        about = json.dumps(" ".join((__doc__ or "").split("\n\n")[-1].split()))
        text = f'{{\n "about": {about},\n "versions": {json.dumps(versions())},\n'
        options.json.write_text(f'{text} "modules": [\n{lines}\n ]\n}}\n')
    return 0 if rows else 1


if __name__ == "__main__":
    sys.exit(main())
