"""The result of a port to flax classes."""

from __future__ import annotations

import dataclasses
import inspect
from collections.abc import Mapping
from typing import Any

from flax import nnx

from jaxgrad._core.copies import copy_to_numpy
from jaxgrad.parity.port.nnx.filling import fill, names, set_modes
from jaxgrad.parity.port.ported import Ported


@dataclasses.dataclass(frozen=True)
class PortedModel(Ported):
    """A port of a torch module as flax nnx classes; `name` is the class of the module."""

    def model(self, state_dict: Mapping[str, Any], *, rngs: nnx.Rngs | None = None) -> nnx.Module:
        """Return the flax module with the tensors of a state_dict, in torch's present modes.

        Args:
            state_dict: That of the torch module.
            rngs: Keys for dropout and other draws; None means `nnx.Rngs(0)`.
        """
        takes_rngs = "rngs" in inspect.signature(self.fn.__init__).parameters
        model = self.fn(**({"rngs": rngs or nnx.Rngs(0)} if takes_rngs else {}))
        fill(model, self.arrays(state_dict))
        modules = self.layout.module.named_modules()
        set_modes(model, {path: module.training for path, module in modules})
        return model

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
        flags, torch_names = self.flags(), names(model)
        return {
            "fn": model,
            "trainable": lambda path: flags.get(torch_names.get(path, ""), False),
        }
