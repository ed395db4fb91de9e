"""Run a card: prove both ports, lint the wrong one."""

import contextlib
import dataclasses
import importlib.util
import pathlib
import re
import sys
import tempfile
from collections.abc import Iterator, Mapping
from types import ModuleType
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import torch

from jaxgrad import functional
from jaxgrad._core.torch_versions import convention
from jaxgrad.parity import LintReport, Report, Training, lint, prove
from parity_tests.site.traps.card import IMPORTS, SIMPLE, Card


FIELDS = ("scheduler", "schedule", "total", "clip", "accumulate")  # of `Training`
LAX = "from jax import lax"  # one of `IMPORTS`
FOLDER = re.compile(r"/[^\s/][^\s]*/(?=(?:model|port|simple)\.py)")


@dataclasses.dataclass(frozen=True)
class Outcome:
    """The reports of `prove` on both ports of a card, and of `lint` on the wrong one.

    `gradients` has torch's gradient and the wrong port's, of the sum of the output, for each
    parameter; it is empty for a card on training.
    """

    wrong: Report
    right: Report
    lint: LintReport
    gradients: Mapping[str, tuple[np.ndarray | None, np.ndarray]]


@dataclasses.dataclass(frozen=True)
class Files:
    """The files of a card as imported modules."""

    model: ModuleType
    wrong: ModuleType
    right: ModuleType


@contextlib.contextmanager
def files(card: Card) -> Iterator[Files]:
    """Write the files of a card to a folder, and import them while it exists."""
    with tempfile.TemporaryDirectory() as folder:
        names: dict[str, Any] = {}
        exec(IMPORTS, names)
        names["functional"] = functional.at(convention())  # the gradients of the installed torch
        simple = vars(_load(pathlib.Path(folder, "simple.py"), SIMPLE, names))
        simple = {name: simple[name] for name in ("Model", "port", "inputs")}
        model = _load(pathlib.Path(folder, "model.py"), card.torch, names | simple)
        wrong, right = (
            _load(pathlib.Path(folder, name, "port.py"), getattr(card, name), names | simple)
            for name in ("wrong", "right")
        )
        yield Files(model, wrong, right)


def outcome(card: Card) -> Outcome:
    """Run the provers on the files of a card."""
    with files(card) as of:
        return Outcome(
            _proof(of.model, of.wrong, card),
            _proof(of.model, of.right, card),
            lint(of.wrong.port, numpy_params(of.model.Model()), *of.model.inputs),
            {} if hasattr(of.model, "optimizer") or card.options else gradients(of),
        )


def gradients(of: Files) -> dict[str, tuple[np.ndarray | None, np.ndarray]]:
    """Return torch's gradient and the wrong port's for each parameter."""
    module, inputs = of.model.Model(), of.model.inputs
    module(*(torch.as_tensor(x) for x in inputs)).sum().backward()
    params = {name: jnp.asarray(x) for name, x in numpy_params(module).items()}
    grads = jax.grad(lambda params: of.wrong.port(params, *map(jnp.asarray, inputs)).sum())(params)
    return {
        name: (None if p.grad is None else p.grad.numpy(), np.asarray(grads[name]))
        for name, p in module.named_parameters()
    }


def _proof(model: ModuleType, port: ModuleType, card: Card) -> Report:
    module, options = model.Model(), dict(card.options)
    if hasattr(model, "optimizer"):
        files = vars(model) | vars(port)
        fields = {name: files[name] for name in FIELDS if name in files}
        if "average" in files:
            fields["ema"] = (files["decay"], files["average"])
        options |= {"optimizer": Training(model.optimizer, port.tx, **fields), "steps": 3}
    return prove(module, port.port, numpy_params(module), model.inputs, **options)


def numpy_params(module: Any) -> dict[str, np.ndarray]:
    """Return the state dict of a module as numpy arrays."""
    return {name: value.numpy().copy() for name, value in module.state_dict().items()}


def printed(report: object) -> str:
    """Return what a report prints, with the names of files instead of their paths."""
    return FOLDER.sub("", str(report)).strip()


def _load(path: pathlib.Path, text: str, names: dict[str, Any]) -> ModuleType:
    """Import a file into a namespace that has these names.

    `prove` reads in the file which name `lax` has. The import is below the card's lines, whose
    numbers stay as they are.
    """
    path.parent.mkdir(exist_ok=True)
    path.write_text(f"{text}\n\n\n{LAX}\n", encoding="utf-8")
    name = f"trap_{path.parent.name}_{path.stem}"
    spec = importlib.util.spec_from_file_location(name, path)
    assert spec is not None and spec.loader is not None
    module = importlib.util.module_from_spec(spec)
    vars(module).update({k: v for k, v in names.items() if not k.startswith("__")})
    sys.modules[name] = module  # inspect finds the source of its classes
    spec.loader.exec_module(module)
    return module
