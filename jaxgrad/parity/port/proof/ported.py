"""The result of a port: its source, function, params and proof."""

from __future__ import annotations

import contextlib
import dataclasses
import functools
import linecache
import os
import pathlib
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

import jax

from jaxgrad._core.typing import PyTree
from jaxgrad.grad_modes import partition
from jaxgrad.optim import state_from_torch
from jaxgrad.parity import files
from jaxgrad.parity.port.leftovers.left_behind import LeftBehind
from jaxgrad.parity.port.leftovers.updated import updated
from jaxgrad.parity.port.proof.proof_files import write_proof
from jaxgrad.parity.port.proof.step_functions import StepFunctions
from jaxgrad.parity.port.proof.verifying import in_file, in_mode_of
from jaxgrad.parity.port.source.refusals import Hole
from jaxgrad.parity.port.source.written import Assumption
from jaxgrad.parity.port.values.params import Layout
from jaxgrad.parity.prove.report import Report
from jaxgrad.parity.prove.text import counted


if TYPE_CHECKING:
    import torch


@dataclasses.dataclass(frozen=True)
class Ported:
    """A port of a torch module.

    Attributes:
        source: The port as a Python file, which imports jax and jaxgrad only.
        name: The name of its entry, `name(params, *inputs)`.
        assumptions: The tests on sizes that the torch program makes and the port asserts.
        draws: Whether the entry draws random numbers, and takes a key as `rng=`.
        has_state: Whether the entry returns (outputs, params), with new buffers in the params.
        takes_mode: Whether the entry takes `training=`, False by default.
        modes: The modes that it is for, True for train mode.
        idle: Those through which no gradient passes, in torch too.
        order: The names of the parameters in each group of torch's optimizer, in its order, if the
            file has a training step.
        holes: The statements that are to be written by hand, with `holes=True`.
        witnesses: Inputs of other sizes, on which it is proved too: they take the other arms of
            its branches on sizes.
        reports: The proofs of its gradients by mode, "train" and "eval"; empty with `prove=False`.
        inputs: The inputs on which it was proved, as numpy arrays.
        targets: The targets on which its training step was proved, as numpy arrays.
        seed: The seed of the proofs.
        leftovers: What a call of the torch module changes in it, in each of the modes.
    """

    source: str
    name: str
    assumptions: tuple[Assumption, ...]
    layout: Layout
    draws: bool = False
    has_state: bool = False
    takes_mode: bool = False
    modes: tuple[bool, ...] = (True, False)
    order: tuple[tuple[str, ...], ...] = ()
    holes: tuple[Hole, ...] = ()
    idle: tuple[bool, ...] = ()
    witnesses: tuple[Any, ...] = ()
    reports: Mapping[str, Report] = dataclasses.field(default_factory=dict)
    inputs: Any = None
    targets: tuple[Any, ...] = ()
    seed: int = 0
    leftovers: tuple[LeftBehind, ...] = dataclasses.field(default=(), repr=False, compare=False)

    def __str__(self) -> str:
        """What was ported, how it is called, what the proof says, and what there is to read."""
        module = type(self.layout.module).__name__
        proofs = [f"{report.verdict} in {mode} mode" for mode, report in self.reports.items()]
        kept = {
            "call": self.usage,
            "proof": ", ".join(proofs) or "none, because of prove=False",
            "assumes": ", ".join(a.text for a in self.assumptions),
            "by hand": f"{counted(len(self.holes), 'hole')}, see .holes" if self.holes else "",
            "source": f"{counted(len(self.source.splitlines()), 'line')}, see .source and .write()",
        }
        rows = [f"  {name:<9}{text}" for name, text in kept.items() if text]
        return "\n".join([f"JAX port of {module}", *rows])

    @functools.cached_property
    def space(self) -> Mapping[str, Any]:
        """The names that the source defines, compiled from it."""
        file = self.placeholder
        lines = self.source.splitlines(keepends=True)
        linecache.cache[file] = (len(self.source), None, lines, file)
        space: dict[str, Any] = {"__name__": self.name}
        exec(compile(self.source, file, "exec"), space)
        return space

    @property
    def placeholder(self) -> str:
        """The name of the source's file in the reports, which are made before it is written."""
        return f"<port of {self.name}>"

    def reports_in(self, path: str | os.PathLike[str]) -> dict[str, Report]:
        """Return the reports with the name of the file to which the source is written."""
        file = pathlib.Path(path).name
        return {k: in_file(x, self.placeholder, file) for k, x in self.reports.items()}

    @property
    def fn(self) -> Callable[..., Any]:
        """The entry of the port."""
        return self.space[self.name]

    @property
    def usage(self) -> str:
        """How the entry is called."""
        return f"{self.name}(params, ...)"

    @property
    def train_step(self) -> Callable[..., Any]:
        """The function `train_step(params, opt_state, *batch) -> (params, opt_state, loss)`."""
        if not self.order:
            raise AttributeError("this port has no training step; pass optimizer= to port")
        return self.space["train_step"]

    def opt_state(self, state_dict: Any) -> Any:
        """Return the state of the port's optimizer from that of torch's optimizer.

        Args:
            state_dict: A torch optimizer of the module, or an optimizer's `state_dict()`. It must
                have the groups of the optimizer that `port` was given, in the same order.

        Raises:
            ValueError: The state_dict has other groups.
        """
        params, names = self._trained()
        return state_from_torch(
            self.space["OPTIMIZER"], params, state_dict, names, order=self._order_of(state_dict)
        )

    def _trained(self) -> tuple[PyTree, PyTree]:
        """Return the params that are trained, and torch's names or None if they are the paths."""
        params = self.params(self.layout.module.state_dict())
        is_trained = self.space.get("is_trained")
        if is_trained is not None:
            params, _ = partition(params, is_trained)
        return params, None

    def _order_of(self, optimizer: Any) -> Any:
        """Return the names of the parameters of an optimizer, or of those in its state_dict."""
        if hasattr(optimizer, "param_groups"):
            module, names = self.layout.module, self._parameter_names()
            parameters = [p for group in optimizer.param_groups for p in group["params"]]
            known = all(id(p) in names for p in parameters)
            return [names[id(p)] for p in parameters] if known else module  # which is refused
        sizes = [len(group["params"]) for group in optimizer["param_groups"]]
        wanted = [len(group) for group in self.order]
        if sizes != wanted:
            raise ValueError(
                f"the parameter groups of the state_dict have {sizes} parameters, but those of the "
                f"optimizer that port was given have {wanted}: pass torch's optimizer itself, "
                "opt_state(optimizer), or port the module with this optimizer"
            )
        return [name for group in self.order for name in group]

    def _parameter_names(self) -> dict[int, str]:
        """Return the name in `order` of each parameter of the module, by its `id`."""
        named = self.layout.module.named_parameters()
        return {id(p): name for name, p in named} | self.layout.names()

    def step_functions(self, seed: int) -> StepFunctions:
        """Return the functions of the training step, as the proof calls them."""
        key = {"rng": jax.random.key(seed)} if self.draws else {}
        space = self.space
        return StepFunctions(
            functools.partial(space["loss_fn"], **key), space["OPTIMIZER"],
            space["init_optimizer"], functools.partial(space["train_step"], **key), self.params,
            self.trainable, self.has_state,
        )  # fmt: skip

    @property
    def report(self) -> Report | None:
        """The proof of its gradients: the first that does not pass, or that of train mode."""
        failed = [r for r in self.reports.values() if r.verdict != "pass"]
        return next(iter([*failed, *self.reports.values()]), None)

    @property
    def trainable(self) -> Any:
        """The tree of bools that says which leaves of the params torch trains."""
        return self.layout.trainable()

    def params(self, state_dict: Mapping[str, torch.Tensor]) -> Any:
        """Return the port's params, as numpy arrays, from a state_dict of the torch module.

        Raises:
            RuntimeError: It is the state_dict of another module: as in torch's `load_state_dict`,
                keys are missing or unexpected, or a shape differs.
        """
        self.layout.check(state_dict)
        return self.layout.params(state_dict)

    def model(self, state_dict: Mapping[str, torch.Tensor], *, rngs: Any = None) -> Any:
        """Return the flax module of a port with `style="nnx"`, filled with a state_dict.

        Raises:
            AttributeError: The port consists of functions.
        """
        del state_dict, rngs
        raise AttributeError(
            "this port has functions, whose params are ported.params(state_dict); for a flax "
            'module write it with style="nnx"'
        )

    def proof_arguments(self, training: bool, seed: int) -> dict[str, Any]:
        """Return the arguments of `prove` that say what the port is, in one mode."""
        return {
            "fn": in_mode_of(self.fn, self.takes_mode, training, seed),
            "params": self.params(self.layout.module.state_dict()),
            "weights": self._weights,
            "trainable": self.trainable,
            "has_state": self.has_state,
        }

    def updated(self, training: bool, inputs: PyTree) -> set[str] | None:
        """Return the paths of what the entry changes in one mode, or None if it raises.

        Raises:
            PortError: The entry returns params of another tree structure.
        """
        if not self.has_state:
            return set()
        given = self.proof_arguments(training, self.seed)

        def entry(params: Any, *args: Any, **options: Any) -> Any:
            return given["fn"](params, *args, **options)[1]

        return updated(entry, given["params"], inputs)

    def _weights(self, state_dict: Mapping[str, torch.Tensor]) -> Any:
        """Return the params for a proof in float64, in which an empty state_dict has no dtype."""
        return self.layout.params(state_dict, wide=not state_dict)

    def write(self, path: str | os.PathLike[str]) -> None:
        """Write the source to a file, and beside it what `verify` needs to prove it again.

        For `my_model.py` these are `my_model.proof.json` with the reports, the versions and a
        digest of the source, `my_model.params.npz`, and torch's runs in each mode as
        `my_model.eval.npz` and `my_model.train.npz`. With a training step, its inputs and targets
        are in `my_model.step.npz`. Existing files are replaced; if an exception is raised, none is.

        Raises:
            FileNotFoundError: The folder does not exist.
            OSError: The file cannot be written for another reason.
        """
        with self._writing(path) as written:
            if not self.reports:
                return
            module = self.layout.module
            write_proof(
                written, self.source, module, self.params(module.state_dict()),
                self.reports_in(path),
                self.inputs, self.seed, style="functions", entry=self.name,
                takes_mode=self.takes_mode, idle=self.idle, targets=self.targets,
                has_state=self.has_state, trainable=self.trainable,
            )  # fmt: skip

    @contextlib.contextmanager
    def _writing(self, path: str | os.PathLike[str]) -> Iterator[pathlib.Path]:
        """Write the source, and yield its path for now, beside which the proof is written."""
        files.require_writable(path)
        with files.together(path) as written:
            written.write_text(self.source, encoding="utf-8")
            yield written
