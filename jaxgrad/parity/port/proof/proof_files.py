"""Write the proof of a port beside its source: the reports, torch's runs and the params."""

from __future__ import annotations

import importlib.metadata
import json
import os
import pathlib
from collections.abc import Mapping
from typing import Any

import jax
import numpy as np
import torch
from torch import nn

from jaxgrad._core.typing import PyTree
from jaxgrad.parity.interop import cast
from jaxgrad.parity.port.modes.idle_modes import pair_for
from jaxgrad.parity.port.modes.modes import MODES, in_mode
from jaxgrad.parity.port.proof.verifying import FORMAT, STEP, Files, digest, flattened
from jaxgrad.parity.prove.record.torch_side import packing
from jaxgrad.parity.prove.record.torch_side.dump import dump
from jaxgrad.parity.prove.report import Report


def write_proof(
    path: str | os.PathLike[str],
    source: str,
    module: nn.Module,
    params: PyTree,
    reports: Mapping[str, Report],
    inputs: PyTree,
    seed: int,
    idle: tuple[bool, ...] = (),
    targets: tuple[Any, ...] = (),
    **entry: Any,
) -> None:
    """Write `my_model.proof.json`, `my_model.params.npz` and a dump of torch's runs for each mode.

    For a training step, `my_model.step.npz` has its inputs and targets.

    Args:
        path: The file of the port.
        source: Its contents.
        module: The torch module.
        params: The params of the port.
        reports: The proofs by mode.
        inputs: The inputs of the proofs.
        seed: The seed of the proofs.
        idle: The modes through which no gradient passes.
        targets: The targets of the training step.
        **entry: The style of the port, how its entry is called, and what torch trains.
    """
    files = Files(pathlib.Path(path))
    arrays: dict[str, Any] = {}
    names = flattened(params, arrays)
    np.savez(files.params, **arrays)
    modes = [mode for mode in reports if mode in MODES.values()]
    for mode in modes:
        with in_mode(module, mode == "train"):
            pair = pair_for((mode == "train") in idle)
            dump(module, inputs, files.dump(mode), seed=seed, loss=pair and pair[0])
    if STEP in reports:
        values = inputs.values() if isinstance(inputs, Mapping) else inputs
        packing.write(files.dump(STEP), cast((*values, *targets), np.float64))
    contents = {
        "format": FORMAT,
        "source_sha256": digest(source),
        "versions": {
            "jax": jax.__version__,
            "jaxgrad": _version(),
            "numpy": np.__version__,
            "torch": torch.__version__,
        },
        **entry,
        "seed": seed,
        "params": names,
        "modes": modes,
        "step": {"source": source} if STEP in reports else None,
        "idle": [MODES[training] for training in idle],
        "reports": {name: report.to_dict() for name, report in reports.items()},
    }
    files.proof.write_text(json.dumps(contents, indent=1), encoding="utf-8")


def _version() -> str:
    """Return the version of the installed jaxgrad; a checkout that is only on the path has none."""
    try:
        return importlib.metadata.version("jaxgrad")
    except importlib.metadata.PackageNotFoundError:
        return "not installed"
