"""Prove a port in each of its modes."""

from __future__ import annotations

import dataclasses
from collections.abc import Callable, Mapping, Sequence
from typing import Any

from torch import nn

from jaxgrad._core.typing import PyTree
from jaxgrad.parity.interop import to_numpy
from jaxgrad.parity.port.modes.idle_modes import pair_for
from jaxgrad.parity.port.modes.modes import MODES, in_mode
from jaxgrad.parity.port.proof.key_use import shares_a_key
from jaxgrad.parity.port.proof.mode_dependence import Observed, depends_on_mode, observed
from jaxgrad.parity.port.proof.ported import Ported
from jaxgrad.parity.port.proof.verifying import prefixed, silent, titled
from jaxgrad.parity.port.source.refusals import KEPT, PortError
from jaxgrad.parity.prove.prove import prove
from jaxgrad.parity.prove.report import SURFACES, Report


def proved(
    ported: Ported, module: nn.Module, inputs: PyTree, also: Sequence[PyTree], seed: int,
    show: Callable[[str], None] = silent, time_limit: float | None = None,
) -> Ported:  # fmt: skip
    """Return a port with its proofs; `show` is called with the name of each step.

    Each proof ends after `time_limit` seconds.

    Raises:
        PortError: In one of the modes the port has other gradients than the module.
    """
    reports: dict[str, Report] = {}
    left_open: dict[str, tuple[str, ...]] = {}
    runs = {mode: observed(module, inputs, mode) for mode in ported.modes}
    outputs = [x for run in runs.values() for x in run.tensors]  # none of those in an object
    if outputs and not any(x.is_floating_point() or x.is_complex() for x in outputs):
        raise PortError(
            f"the outputs of {type(module).__name__} are not floating, so that it has no gradient "
            "to prove; prove=False writes its port"
        )
    for training in _modes(ported, module, runs):
        with in_mode(module, training):
            arguments = ported.proof_arguments(training, seed)
            reason = _lost_buffer(arguments, runs[training])
            if not ported.holes:
                reason = reason or _shared_key(arguments, inputs)
            report = None if reason else prove(
                module, inputs=to_numpy(inputs), also=[to_numpy(x) for x in also], seed=seed,
                progress=prefixed(MODES[training], show), loss=pair_for(training in ported.idle),
                time_limit=time_limit, **arguments,
            )  # fmt: skip
        if report is not None:
            report = titled(report, type(module).__name__, ported.name, MODES[training])
        if report is not None and ported.holes and _calls_a_hole(report):
            left_open[MODES[training]] = SURFACES
        elif report is None or report.verdict != "pass":
            mode = f" in {MODES[training]} mode" if ported.takes_mode else ""
            known = reports if report is None else {**reports, MODES[training]: report}
            raise PortError(
                f"the port of {type(module).__name__} is not proved{mode}:\n"
                f"{report or reason}{KEPT}",
                ported=dataclasses.replace(
                    ported, reports=known, inputs=to_numpy(inputs), seed=seed
                ),
            )
        reports[MODES[training]] = report
    holes = tuple(dataclasses.replace(hole, open=left_open) for hole in ported.holes)
    return dataclasses.replace(
        ported, reports=reports, inputs=to_numpy(inputs), seed=seed, holes=holes
    )


def _modes(ported: Ported, module: nn.Module, runs: Mapping[bool, Observed]) -> list[bool]:
    """Return the modes in which a port is proved: each one, or one if torch has no difference."""
    if ported.takes_mode or (len(runs) > 1 and depends_on_mode(*runs.values())):
        return list(runs)
    return [module.training]


def _calls_a_hole(report: Report) -> bool:
    """Return whether a proof ends at a function that is to be written by hand."""
    return report.verdict == "error" and "NotImplementedError" in str(report)


def _lost_buffer(arguments: Mapping[str, Any], run: Observed) -> str:
    """Return what is wrong if torch changes a buffer and the port returns none."""
    if not run.changed or arguments.get("has_state", True):
        return ""
    return f"torch changes the buffer {run.changed[0]!r}, which the port does not return"


def _shared_key(arguments: Mapping[str, Any], inputs: PyTree) -> str:
    """Return what is wrong if two draws read one key; `prove` gives them torch's numbers."""
    if "rng" not in getattr(arguments["fn"], "keywords", ()):
        return ""  # it draws nothing, or it is a flax module, which makes a key for each draw
    try:
        if not shares_a_key(arguments["fn"], arguments["params"], to_numpy(inputs)):
            return ""
    except Exception:  # the proof says where the port raises
        return ""
    return "two of its draws read the same random key, so that their numbers are equal"
