"""Prove a port in each of its modes."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from torch import nn

from jaxgrad._core.typing import PyTree
from jaxgrad.parity.interop import to_numpy
from jaxgrad.parity.port.modes import MODES, in_mode
from jaxgrad.parity.port.ported import Ported
from jaxgrad.parity.port.refusals import PortError
from jaxgrad.parity.prove.prove import prove
from jaxgrad.parity.prove.report import Report


def proved(
    ported: Ported, module: nn.Module, inputs: PyTree, also: Sequence[PyTree], seed: int
) -> Ported:
    """Return a port with its proofs.

    Raises:
        PortError: In one of the modes the port has other gradients than the module.
    """
    reports: dict[str, Report] = {}
    for training in (True, False) if ported.takes_mode else (module.training,):
        with in_mode(module, training):
            report = prove(
                module, inputs=to_numpy(inputs), also=[to_numpy(x) for x in also], seed=seed,
                **ported.proof_arguments(training, seed),
            )  # fmt: skip
        if report.verdict != "pass":
            mode = f" in {MODES[training]} mode" if ported.takes_mode else ""
            raise PortError(f"the port of {type(module).__name__} is not proved{mode}:\n{report}")
        reports[MODES[training]] = report
    return dataclasses.replace(ported, reports=reports, inputs=to_numpy(inputs), seed=seed)
