"""Prove a written port again, from the files beside it, without torch and the torch module."""

from __future__ import annotations

import dataclasses
import functools
import hashlib
import inspect
import json
import pathlib
import runpy
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

import jax
import numpy as np

from jaxgrad.parity.interop import cast
from jaxgrad.parity.port.modes.idle_modes import pair_for
from jaxgrad.parity.port.proof import step_verifying
from jaxgrad.parity.port.proof.step_functions import Steps, steps_of_model, steps_of_params
from jaxgrad.parity.prove.edits import Edit
from jaxgrad.parity.prove.listings import Listing
from jaxgrad.parity.prove.prove import prove
from jaxgrad.parity.prove.record.torch_side import packing
from jaxgrad.parity.prove.report import NO_OPTIMIZER, NO_STEP, Finding, Report, Surface


FORMAT = 2
STYLES = ("functions", "nnx")
STEP = "step"  # the report of the training step
JUDGED_IN_STEP = "the training step is judged in the proof of train_step"
NOT_JUDGED = "train_step was not proved"  # because the port has holes


@dataclasses.dataclass(frozen=True)
class Files:
    """The files of a written port."""

    source: pathlib.Path

    @property
    def proof(self) -> pathlib.Path:
        return self.source.with_suffix(".proof.json")

    @property
    def params(self) -> pathlib.Path:
        return self.source.with_suffix(".params.npz")

    def dump(self, mode: str) -> pathlib.Path:
        return self.source.with_suffix(f".{mode}.npz")

    def beside(self, modes: Iterable[str]) -> tuple[pathlib.Path, ...]:
        """Return the files of the proof, with one for each of the modes and the training step."""
        return (self.proof, self.params, *(self.dump(mode) for mode in modes))

    @property
    def all(self) -> tuple[pathlib.Path, ...]:
        return (self.source, *self.beside(("train", "eval", STEP)))


class NoProof(Exception):
    """The files of a proof are missing or of another format."""


def titled(report: Report, module: str, entry: str, mode: str) -> Report:
    """Name the report of a port after torch's class, the port's entry and the mode of both."""
    return dataclasses.replace(report, name=f"{module} | {entry} ({mode} mode)")


def beside_step(reports: Mapping[str, Report]) -> dict[str, Report]:
    """Return the reports of a port with a training step; those of its modes say where it is judged.

    Each mode is proved without an optimizer, so that its report says that none was given.
    """
    where = JUDGED_IN_STEP if STEP in reports else NOT_JUDGED
    return {name: r if name == STEP else _with_step(r, where) for name, r in reports.items()}


def _with_step(report: Report, where: str) -> Report:
    updates = report.surfaces.get("updates")
    if updates is None:
        return report
    text = updates.text.replace(NO_STEP, where).replace(NO_OPTIMIZER, where)
    surfaces = {**report.surfaces, "updates": dataclasses.replace(updates, text=text)}
    return dataclasses.replace(report, surfaces=surfaces)


def in_file(value: Any, placeholder: str, file: str) -> Any:
    """Return a report whose places name a file instead of the placeholder of a port's source."""
    if isinstance(value, str):
        return value.replace(placeholder, file)
    if isinstance(value, tuple):
        return tuple(in_file(x, placeholder, file) for x in value)
    if isinstance(value, Mapping):
        return {key: in_file(x, placeholder, file) for key, x in value.items()}
    if isinstance(value, Report | Surface | Finding | Edit | Listing):
        names = [field.name for field in dataclasses.fields(value)]
        new = {name: in_file(getattr(value, name), placeholder, file) for name in names}
        return dataclasses.replace(value, **new)
    return value


def verify(
    source: pathlib.Path, show: Callable[[str], None], time_limit: float | None = None
) -> Iterator[tuple[str, Report]]:
    """Prove a port in each of its modes, and its training step; yield the mode and its report.

    Args:
        source: The file of the port.
        show: Function that is called with the name of each step as it begins.
        time_limit: Seconds after which the proof of each mode ends.

    Raises:
        NoProof: `Ported.write` has not written the files beside the source.
    """
    files = Files(source)
    proof = read(files)
    fn = runpy.run_path(str(source))[proof["entry"]]
    with np.load(files.params) as arrays:
        params = _filled(proof["params"], arrays)
    arguments = _of_classes if proof["style"] == "nnx" else _of_functions
    where = NOT_JUDGED if unproved_step(files, proof) else ""
    where = JUDGED_IN_STEP if proof.get(STEP) else where
    for mode in proof["modes"]:
        report = prove(
            files.dump(mode), progress=prefixed(mode, show),
            loss=pair_for(mode in proof.get("idle", ())), time_limit=time_limit,
            **arguments(fn, params, proof, mode),
        )  # fmt: skip
        module = proof["reports"][mode]["name"].partition(" | ")[0]
        report = titled(report, module, proof["entry"], mode)
        if where:
            report = _with_step(report, where)
        yield mode, report
    if proof.get(STEP):
        show(STEP)
        yield STEP, step_verifying.verified(_step_proof(files, proof))


def _step_proof(files: Files, proof: dict[str, Any]) -> step_verifying.StepProof:
    """Return what is needed to compare the training step of a port with the proved one."""

    def steps(space: dict[str, Any]) -> Steps:
        with np.load(files.params) as arrays:
            params = cast(_filled(proof["params"], arrays), np.float64)
        if proof["style"] == "functions":
            return steps_of_params(space, params, proof["seed"])
        return steps_of_model(space, _model(space[proof["entry"]], params, proof, "train"))

    return step_verifying.StepProof(
        proof["reports"][STEP]["name"], str(files.source),
        files.source.read_text(encoding="utf-8"), proof[STEP]["source"], proof["entry"], steps,
        packing.read(files.dump(STEP)),
    )  # fmt: skip


def unproved_step(files: Files, proof: Mapping[str, Any]) -> str:
    """Return that a port's training step is not proved, and how to prove it; "" if it is."""
    if proof.get(STEP) or "\ndef train_step(" not in files.source.read_text("utf-8"):
        return ""
    return (
        f"the training step was not proved: no proof of train_step is beside {files.source.name} "
        "(a port with holes has none). Prove it where torch is installed: "
        "jaxgrad.parity.prove(module, fn, params, inputs, loss=..., optimizer=Training(...))"
    )


def silent(step: str) -> None:
    """Show nothing."""
    del step


def prefixed(label: str, show: Callable[[str], None]) -> Callable[[str], None]:
    """Return a function that shows the steps of one proof, as in `train: align`."""
    return lambda step: show(f"{label}: {step}")


def _of_functions(fn: Any, params: Any, proof: dict[str, Any], mode: str) -> dict[str, Any]:
    """Return the arguments of `prove` for a function of a params tree."""
    entry = in_mode_of(fn, proof["takes_mode"], mode == "train", proof["seed"])
    own = {name: proof[name] for name in ("trainable", "has_state")}
    return {"fn": entry, "params": params, **own}


def _of_classes(fn: Any, params: Any, proof: dict[str, Any], mode: str) -> dict[str, Any]:
    """Return the arguments of `prove` for a flax class."""
    from jaxgrad.parity.port.proof.filling import trained

    model = _model(fn, params, proof, mode)
    return {"fn": model, "trainable": trained(model, proof["trainable"])}


def _model(kind: Any, arrays: Any, proof: dict[str, Any], mode: str) -> Any:
    """Return the flax model with torch's tensors, in one mode."""
    from flax import nnx

    from jaxgrad.parity.port.proof.filling import Mode, filled

    setting = Mode(mode == "train", proof["others"].get(mode, ()))
    return filled(kind, arrays, setting, nnx.Rngs(proof["seed"]))


def read(files: Files) -> dict[str, Any]:
    """Return the contents of the proof file.

    Raises:
        NoProof: It does not exist, or another version has written it.
    """
    for path in (files.source, files.proof, files.params):
        if not path.is_file():
            raise NoProof(
                f"{path} does not exist; where torch is installed, it is written by "
                f"`python -m jaxgrad.parity port model.py::make_model -o {files.source.name}` in "
                f"the shell, and by Ported.write({files.source.name!r}) in Python"
            )
    proof = json.loads(files.proof.read_text(encoding="utf-8"))
    if proof.get("format") != FORMAT:
        raise NoProof(f"{files.proof} was written by another version of jaxgrad; port again")
    return proof


def has_changed(files: Files) -> bool:
    """Return whether the source is not the one that was proved when it was written."""
    return read(files)["source_sha256"] != digest(files.source.read_text(encoding="utf-8"))


def lost(files: Files) -> str:
    """Return why the source must not be replaced, or "" if nothing written by hand is lost."""
    if not files.source.exists():
        return ""
    try:
        changed = has_changed(files)
    except (NoProof, ValueError, KeyError):
        return "exists, and no proof beside it shows that `port` has written it"
    return "has changed since it was written" if changed else ""


def digest(source: str) -> str:
    return hashlib.sha256(source.encode()).hexdigest()


def in_mode_of(
    fn: Callable[..., Any], takes_mode: bool, training: bool, seed: int
) -> Callable[..., Any]:
    """Return an entry in one mode; a key that has a default is needed in train mode alone."""
    keywords: dict[str, Any] = {"training": training} if takes_mode else {}
    key = inspect.signature(fn).parameters.get("rng")
    if key is not None and (training or key.default is key.empty):
        keywords["rng"] = jax.random.key(seed)
    return functools.partial(fn, **keywords)


def flattened(tree: Any, arrays: dict[str, Any], path: str = "") -> Any:
    """Return a params tree with each leaf replaced by its path, and collect the leaves."""
    if isinstance(tree, Mapping):
        return {k: flattened(x, arrays, f"{path}.{k}" if path else k) for k, x in tree.items()}
    if isinstance(tree, list):
        return [flattened(x, arrays, f"{path}.{n}" if path else str(n)) for n, x in enumerate(tree)]
    arrays[path] = tree
    return path


def _filled(names: Any, arrays: Mapping[str, Any]) -> Any:
    if isinstance(names, dict):
        return {key: _filled(x, arrays) for key, x in names.items()}
    if isinstance(names, list):
        return [_filled(x, arrays) for x in names]
    return arrays[names]
