"""Require that a port returns each parameter and buffer that torch's call changes."""

from __future__ import annotations

from torch import nn

from jaxgrad._core.typing import PyTree
from jaxgrad.parity.interop import to_numpy
from jaxgrad.parity.port.leftovers.left_behind import LeftBehind
from jaxgrad.parity.port.leftovers.snapshots import Difference
from jaxgrad.parity.port.modes.modes import MODES, in_mode
from jaxgrad.parity.port.proof.ported import Ported
from jaxgrad.parity.port.source.refusals import PortError


def require_returned(ported: Ported, inputs: PyTree) -> None:
    """Require that a port returns what torch's call changes in each of its modes.

    Raises:
        PortError: A parameter or a buffer changes in torch, and the port returns it as it was.
    """
    for training, left in zip(ported.modes, ported.leftovers, strict=True):
        module = ported.layout.module
        changes = [
            *left.of_kind("tensor"),
            *(x for x in left.of_kind("changed") if x.path in ported.layout.constants),
        ]
        if not changes:
            continue
        with in_mode(module, training):
            updated = ported.updated(training, to_numpy(inputs))
        if updated is not None:
            mode = f" in {MODES[training]} mode" if len(ported.modes) > 1 else ""
            for change in changes:
                _require(module, change, updated, mode, left)


def _require(
    module: nn.Module, change: Difference, updated: set[str], mode: str, left: LeftBehind
) -> None:
    named = {
        **dict(module.named_parameters(remove_duplicate=False)),
        **dict(module.named_buffers(remove_duplicate=False)),
    }
    own = named.get(change.path)
    names = {change.path, *(n for n, x in named.items() if x is own)}
    if not names & updated:
        raise PortError(
            f"torch changes {change.path!r} while the module runs{mode}, and the port does not "
            f"return it; change it by a statement of its own, such as "
            f"`self.{change.path}.copy_(new)`",
            left.line(change),
        )
