"""The result of a port to flax classes."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Mapping
from typing import Any

from flax import nnx

from jaxgrad._core.copies import copy_to_numpy
from jaxgrad.parity.port.modes.modes import in_mode
from jaxgrad.parity.port.proof.filling import Mode, filled, takes_rngs, trained
from jaxgrad.parity.port.proof.ported import Ported
from jaxgrad.parity.port.proof.proof_files import write_proof


@dataclasses.dataclass(frozen=True)
class PortedModel(Ported):
    """A port of a torch module as flax nnx classes; `name` is the class of the module."""

    @property
    def usage(self) -> str:
        """How the model is made."""
        return f"{self.name}({'rngs=nnx.Rngs(0)' if takes_rngs(self.fn) else ''})"

    def model(self, state_dict: Mapping[str, Any], *, rngs: nnx.Rngs | None = None) -> Any:
        """Return the flax module with the tensors of a state_dict, in torch's present modes.

        Args:
            state_dict: That of the torch module.
            rngs: Keys for dropout and other draws; None means `nnx.Rngs(0)`.
        """
        return filled(self.fn, self.arrays(state_dict), self._mode(), rngs)

    def _mode(self) -> Mode:
        """Return torch's present mode, and the modules that the user has put in the other one."""
        module = self.layout.module
        training = module.training
        return Mode(training, [p for p, m in module.named_modules() if m.training is not training])

    def params(self, state_dict: Mapping[str, Any]) -> Any:
        """Raise, because a flax module holds its params.

        Raises:
            AttributeError: The port has no tree of params.
        """
        del state_dict
        raise AttributeError(
            'a port with style="nnx" holds its params; use ported.model(state_dict)'
        )

    @property
    def trainable(self) -> Any:
        """An nnx filter for what torch trains, as in `nnx.DiffState(0, ported.trainable)`."""
        flags = self.flags()
        return lambda path, _: flags.get(".".join(str(x) for x in path if x != "layers"), False)

    def flags(self) -> dict[str, bool]:
        """Return whether torch trains each parameter, by name."""
        named = self.layout.module.named_parameters(remove_duplicate=False)
        return {name: p.requires_grad for name, p in named}

    def arrays(self, state_dict: Mapping[str, Any]) -> dict[str, Any]:
        """Return the values of the variables by torch's names; the module has those not given."""
        module = self.layout.module
        held = dict(module.named_parameters(remove_duplicate=False))
        held |= dict(module.named_buffers(remove_duplicate=False)) | dict(self.layout.constants)
        return {name: copy_to_numpy(state_dict.get(name, x)) for name, x in held.items()}

    def proof_arguments(self, training: bool, seed: int) -> dict[str, Any]:
        """Return the arguments of `prove` that say what the port is, in torch's present modes."""
        del training
        model = self.model(self.layout.module.state_dict(), rngs=nnx.Rngs(seed))
        return {"fn": model, "trainable": trained(model, self.flags())}

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the source to a file, and beside it what `verify` needs to prove it again."""
        self._write_source(path)
        module, others = self.layout.module, {}
        for mode in self.reports:
            with in_mode(module, mode == "train"):
                others[mode] = list(self._mode().others)
        if self.reports:
            write_proof(
                path, self.source, module, self.arrays(module.state_dict()), self.reports,
                self.inputs, self.seed, style="nnx", entry=self.name, trainable=self.flags(),
                others=others,
            )  # fmt: skip
