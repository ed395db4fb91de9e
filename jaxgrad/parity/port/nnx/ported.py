"""The result of a port to flax classes."""

from __future__ import annotations

import dataclasses
import os
from collections.abc import Callable, Mapping
from typing import Any

from flax import nnx

from jaxgrad._core import paths
from jaxgrad._core.copies import copy_to_numpy
from jaxgrad._core.typing import PyTree
from jaxgrad.parity.port.leftovers.updated import updated
from jaxgrad.parity.port.modes.modes import MODES, in_mode
from jaxgrad.parity.port.proof.filling import Mode, abstract, filled, names, takes_rngs, trained
from jaxgrad.parity.port.proof.ported import Ported
from jaxgrad.parity.port.proof.proof_files import write_proof
from jaxgrad.parity.port.proof.step_functions import (
    FILTER,
    StepFunctions,
    Variables,
    steps_of_model,
)


@dataclasses.dataclass(frozen=True)
class PortedModel(Ported):
    """A port of a torch module as flax nnx classes; `name` is the class of the module.

    Attributes:
        torch_names: torch's name of each parameter by its path in the state of the model, if the
            file has a training step.
    """

    torch_names: Mapping[str, str] = dataclasses.field(default_factory=dict)

    @property
    def usage(self) -> str:
        """How the model is made."""
        return f"{self.name}({'rngs=nnx.Rngs(0)' if takes_rngs(self.fn) else ''})"

    def model(self, state_dict: Mapping[str, Any], *, rngs: nnx.Rngs | None = None) -> Any:
        """Return the flax module with the tensors of a state_dict, in torch's present modes.

        Args:
            state_dict: That of the torch module.
            rngs: Keys for dropout and other draws; None means `nnx.Rngs(0)`.

        Raises:
            RuntimeError: It is the state_dict of another module, as in torch's `load_state_dict`.
        """
        self.layout.check(state_dict)
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
        flags, torch_names = self.flags(), names(abstract(self.fn))
        return lambda path, _: flags.get(torch_names["/".join(map(str, path))], False)

    @property
    def train_step(self) -> Callable[..., Any]:
        """The function `train_step(model, opt_state, *batch) -> (opt_state, loss)`."""
        return super().train_step

    def _trained(self) -> tuple[PyTree, PyTree]:
        """Return the trained state of the model, and the torch name of each of its leaves."""
        model = self.model(self.layout.module.state_dict())
        chosen = self.space.get(FILTER, nnx.Param)
        params = nnx.to_pure_dict(nnx.state(model, chosen))
        return params, paths.map_named(lambda path, _: self.torch_names[path], params)

    def _parameter_names(self) -> dict[int, str]:
        """Return torch's first name of each parameter, as in `torch_names`, by its `id`."""
        return {id(p): name for name, p in self.layout.module.named_parameters()}

    def step_functions(self, seed: int) -> StepFunctions:
        """Return the functions of the training step over a tree of the model's variables."""
        model = self.model(self.layout.module.state_dict(), rngs=nnx.Rngs(seed))
        variables = Variables(model)
        others = nnx.to_flat_state(nnx.state(model, nnx.Not((nnx.RngState, nnx.Param))))
        has_state, space = bool(others), self.space

        def loss(params: Any, *batch: Any) -> Any:
            model = variables.model(params)
            value = space["loss_fn"](model, *batch)
            return (value, variables.tree(model)) if has_state else value

        steps = steps_of_model(space, model)
        flags = self.flags()
        return StepFunctions(
            loss, space["OPTIMIZER"], steps.init, steps.step,
            lambda state_dict: variables.tree(self.model(state_dict)),
            paths.map_named(
                lambda path, _: path in self.torch_names and flags[self.torch_names[path]],
                steps.params,
            ),
            has_state,
        )  # fmt: skip

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

    def updated(self, training: bool, inputs: PyTree) -> set[str] | None:
        """Return torch's names of the variables that a call changes, or None if it raises."""
        model = self.proof_arguments(training, self.seed)["fn"]
        variables = nnx.Not(nnx.RngState)
        graph, state, others = nnx.split(model, variables, ...)

        def call(state: Any, *args: Any, **options: Any) -> Any:
            model = nnx.merge(graph, state, others, copy=True)
            model(*args, **options)
            return nnx.to_pure_dict(nnx.state(model, variables))

        given = nnx.to_pure_dict(state)
        found = updated(call, given, inputs)
        torch_names = {k.replace("/", "."): v for k, v in names(model).items()}
        return None if found is None else {torch_names.get(path, path) for path in found}

    def proof_arguments(self, training: bool, seed: int) -> dict[str, Any]:
        """Return the arguments of `prove` that say what the port is, in torch's present modes."""
        del training
        model = self.model(self.layout.module.state_dict(), rngs=nnx.Rngs(seed))
        return {"fn": model, "trainable": trained(model, self.flags())}

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the source to a file, and beside it what `verify` needs to prove it again."""
        module, others = self.layout.module, {}
        for mode in [mode for mode in self.reports if mode in MODES.values()]:
            with in_mode(module, mode == "train"):
                others[mode] = list(self._mode().others)
        with self._writing(path) as written:
            if not self.reports:
                return
            write_proof(
                written, self.source, module, self.arrays(module.state_dict()),
                self.reports_in(path),
                self.inputs, self.seed, style="nnx", entry=self.name, trainable=self.flags(),
                others=others, idle=self.idle, targets=self.targets,
            )  # fmt: skip
