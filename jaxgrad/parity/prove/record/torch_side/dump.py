"""Write the torch model's runs to a file, for machines without torch, and read them back."""

from __future__ import annotations

import contextlib
import dataclasses
import os
import pathlib
from collections.abc import Callable, Mapping, Sequence
from typing import TYPE_CHECKING, Any, NoReturn

import numpy as np

from jaxgrad._core import argument_names
from jaxgrad._core.typing import PyTree
from jaxgrad.parity.prove.checks import check_steps
from jaxgrad.parity.prove.record.adapters import ProofError, float64_on_cpu
from jaxgrad.parity.prove.record.jax_side.port import Draw
from jaxgrad.parity.prove.record.noise import Noise
from jaxgrad.parity.prove.record.torch_side import packing
from jaxgrad.parity.prove.record.torch_side.draws import STATISTICS, rounded_buffers
from jaxgrad.parity.prove.record.torch_side.side import (
    Differentiated,
    Drawn,
    Gradients,
    State,
    Steps,
)
from jaxgrad.parity.prove.record.torch_side.values import (
    Call,
    Mistakes,
    Native,
    Stored,
    TorchRun,
    Value,
    changes,
)
from jaxgrad.parity.prove.training import Training


if TYPE_CHECKING:
    from torch import nn

FORMAT = 5


@dataclasses.dataclass
class Dump:
    """The contents of a dump file."""

    format: int
    torch: str  # torch's version
    seed: int
    has_loss: bool
    drawn: list[Drawn]
    exact_reruns: list[list[TorchRun]]  # each draw's reruns with the `rough` buffers unperturbed
    rough: list[str]  # buffers that are rounded to float32, in case the port recomputes them
    flags: dict[str, bool]
    names: dict[str, str]  # state_dict name -> name in `Draw.state`, one name per tied weight
    steps: Steps | None
    exact_steps: list[Mapping[int, State]]
    count: int  # number of steps
    native: Native
    state_dtypes: dict[str, str]  # of the optimizer
    notes: list[str]
    unread: dict[str, bool]  # the changed values on which no further call depends


_RECORDS = (Dump, Drawn, Draw, TorchRun, Value, Call, Steps, Native, Stored, Noise)


@argument_names.spelt
def dump(
    module: nn.Module,
    inputs: PyTree,
    path: str | os.PathLike[str],
    *,
    outputs: Callable[..., Any] | None = None,
    loss: Callable[..., Any] | None = None,
    optimizer: Callable[..., Any] | Training | None = None,
    steps: int | None = None,
    seed: int = 0,
) -> None:
    """Run a torch module and write its results to a file, for `prove(path, fn, params)`.

    Reading the file needs no torch.

    Args:
        module: A `torch.nn.Module`, in the mode (train or eval) to compare.
        inputs: A tuple of numpy arrays, or a mapping for named arguments.
        path: Path of the file, an .npz file without pickled objects. It holds the weights twice,
            with an optimizer also three times for each step, and each gradient six times, in
            float64.
        outputs: Function that selects the outputs to compare, the first of the pair in `prove`.
        loss: Scalar loss as a function of the outputs, the first of the pair in `prove`.
        optimizer: Factory of a torch optimizer, or a `Training`, as in `prove`.
        steps: Number of optimizer steps, by default 1.
        seed: Seed of the cotangents and of the second draw, which `prove` reads from the file.

    Raises:
        ProofError: The module or the inputs cannot be used.

    Example:
      >>> import pathlib, tempfile, torch, numpy as np
      >>> from jaxgrad.parity import dump, prove
      >>> layer = torch.nn.Linear(3, 2)
      >>> path = pathlib.Path(tempfile.mkdtemp()) / "layer.npz"
      >>> dump(layer, (np.ones((4, 3)),), path)
      >>> params = {k: v.detach().numpy() for k, v in layer.state_dict().items()}
      >>> def port(params, x):
      ...     return x @ params["weight"].T + params["bias"]
      >>> prove(path, port, params).verdict
      'pass'

    Torch: `torch.save` stores the weights alone; a dump also stores values and gradients.
    """
    check_steps(steps, optimizer)
    try:
        import torch
    except ModuleNotFoundError as error:
        text = "dump runs the torch module, and torch is not installed; run: pip install torch"
        raise ModuleNotFoundError(text, name="torch") from error

    from jaxgrad.parity.prove.record.torch_side.live import Live

    with float64_on_cpu(), contextlib.closing(Live(module, inputs, outputs, loss, seed)) as side:
        # The port is not known yet. Assume that its params hold all parameters and the statistics
        # of norms; other buffers (tables, masks) are not redrawn.
        mapped = [n for n in side.state if n in side.flags or n.endswith(STATISTICS)]
        drawn = side.drawn(mapped)
        near = [list(d.gradient_reruns) for d in drawn]
        count = 1 if steps is None else int(steps)
        training = optimizer if isinstance(optimizer, Training) else Training(optimizer)
        draws = [d.draw for d in drawn]
        taken = _all_steps(side.steps(training, draws, count)) if optimizer is not None else None
        rough = rounded_buffers(side.module, mapped)
        side.rough = ()
        exact = [list(side.reruns(d.draw, d.run)) for d in drawn] if rough else []
        exact_steps = []
        if rough and optimizer is not None:
            exact_steps = list(side.steps(training, draws, count).reruns)
        native = side.native(draws, always=True)
        state_dtypes = dict(side.state_dtypes(training)) if optimizer is not None else {}
        left = changes(drawn[0].run, draws[0].state)
        unread = side.unread({name: x.after for name, x in left.items()}) if left else {}
    contents = Dump(
        format=FORMAT,
        torch=torch.__version__,
        seed=seed,
        has_loss=loss is not None,
        drawn=[
            Drawn(d.draw, _bare(d.run), [_bare(r) for r in reruns], rough=d.rough)
            for d, reruns in zip(drawn, near, strict=True)
        ],
        exact_reruns=[[_bare(run) for run in runs] for runs in exact],
        rough=rough,
        flags=dict(side.flags),
        names=dict(side.names),
        steps=taken,
        exact_steps=exact_steps,
        count=count if optimizer is not None else 0,
        native=native,
        state_dtypes=state_dtypes,
        notes=side.notes,
        unread=dict(unread),
    )
    try:
        packing.write(path, contents)
    except TypeError as error:
        raise ProofError(
            f"{error} to {path}: inputs may be arrays, numbers and strings in lists and dicts"
        ) from error


def _all_steps(taken: Steps) -> Steps:
    """Make all reruns of some steps."""
    return dataclasses.replace(
        taken,
        reruns=list(taken.reruns),
        moment_reruns=list(taken.moment_reruns),
        buffer_reruns=list(taken.buffer_reruns),
    )


def _bare(run: TorchRun) -> TorchRun:
    """Drop the values of a run and keep their fingerprints."""
    values = [
        dataclasses.replace(value, data=None, cotangent_data=None, call=None)
        for value in run.values
    ]
    discrete = [dataclasses.replace(value, data=None, call=None) for value in run.discrete]
    return dataclasses.replace(run, values=values, discrete=discrete, contributions={}, noise=[])


class Dumped:
    """The torch model as stored in a dump."""

    module: Any = None
    rerunnable = False

    def __init__(self, path: str | os.PathLike[str]):
        self.path = pathlib.Path(path)
        if not self.path.is_file():
            raise ProofError(
                f"the dump {str(self.path)!r} does not exist: write it where torch is installed, "
                "with jaxgrad.parity.dump(module, inputs, path)"
            )
        try:
            contents = packing.read(self.path, *_RECORDS)
            if not isinstance(contents, Dump) or contents.format != FORMAT:
                raise ValueError("it was written by another version of jaxgrad")
        except (ValueError, KeyError, TypeError) as error:
            raise ProofError(f"{str(self.path)!r} is not a dump of jaxgrad: {error}") from error
        self.contents: Dump = contents
        self.seed, self.has_loss = contents.seed, contents.has_loss
        self.flags: Mapping[str, bool] = contents.flags
        self.names: Mapping[str, str] = contents.names
        self.inputs: Any = contents.drawn[0].draw.inputs
        self.jax_inputs: Any = None
        self.outputs: Mapping[str, np.ndarray] = contents.drawn[0].run.outputs
        self.state: State = contents.drawn[0].draw.state
        self.notes: list[str] = [
            *contents.notes,
            f"torch's results are read from {self.path.name}, so no likely cause is tried by "
            "rerunning torch; to get one, call prove with the module",
        ]
        self.versions: Mapping[str, str] = {"torch": contents.torch}
        self._exact = True

    def on(self, inputs: Any, jax_inputs: Any = None) -> NoReturn:
        """Raise an error, because a dump cannot run torch."""
        del inputs, jax_inputs
        raise ProofError(f"{self.path.name} is a dump, so torch cannot be run on other inputs")

    def close(self) -> None:
        """Do nothing, because a dump runs no module."""

    def idle(self) -> contextlib.AbstractContextManager[None]:
        """Do nothing, because a dump has no module."""
        return contextlib.nullcontext()

    def tables(self, mapped: Sequence[str]) -> Mapping[str, np.ndarray]:
        """Return no tables: the runs in a dump cannot be repeated with other numbers."""
        del mapped
        return {}

    def replace(self, tables: Mapping[str, np.ndarray]) -> NoReturn:
        """Raise an error, because a dump cannot run torch."""
        del tables
        raise ProofError(f"{self.path.name} is a dump, so its tables cannot be replaced")

    def replacing(self, tables: Mapping[str, np.ndarray]) -> NoReturn:
        """Raise an error, because a dump cannot run torch."""
        self.replace(tables)

    def load(self, draw: Draw) -> NoReturn:
        """Raise an error, because a dump has no module."""
        del draw
        raise ProofError(f"{self.path.name} is a dump, so it has no module to load weights into")

    def drawn(self, mapped: Sequence[str], fixed: Sequence[str] = ()) -> list[Drawn]:
        """Return both draws."""
        if fixed:
            raise ProofError(
                f"inputs=: the port's inputs are not those of {self.path.name} with permuted axes, "
                "and a dump cannot run torch again with the given values: pass the torch module"
            )
        # A buffer taken from torch is equal in both frameworks, so its rounding does not matter.
        self._exact = bool(self.contents.rough) and set(self.contents.rough) <= set(mapped)
        if not self._exact:
            return self.contents.drawn
        pairs = zip(self.contents.drawn, self.contents.exact_reruns, strict=True)
        return [Drawn(d.draw, d.run, reruns) for d, reruns in pairs]

    def edges(self) -> list[tuple[str, Any]]:
        """Return no inputs, because a dump cannot run torch on them."""
        return []

    def run(self, draw: Draw, **options: Any) -> NoReturn:
        """Raise an error, because a dump cannot run torch."""
        del draw, options
        raise ProofError(f"{self.path.name} is a dump, so torch cannot be rerun")

    def reruns(
        self, draw: Draw, run: TorchRun, *, forward: bool = False, **options: Any
    ) -> NoReturn:
        """Raise an error, because a dump cannot run torch."""
        del run, forward, options
        self.run(draw)

    def making(self, mistakes: Mistakes) -> NoReturn:
        """Raise an error, because a dump cannot run torch."""
        del mistakes
        raise ProofError(f"{self.path.name} is a dump, so torch cannot be rerun")

    def returning(self, names: Sequence[str]) -> NoReturn:
        """Raise an error, because a dump cannot run torch."""
        del names
        raise ProofError(f"{self.path.name} is a dump, so torch cannot be rerun")

    def record(self, draw: Draw) -> NoReturn:
        """Raise an error, because a dump cannot run torch."""
        self.run(draw)

    def unread(self, left: Mapping[str, Any]) -> Mapping[str, bool]:
        """Return the names of the changed values that no further call of the module reads."""
        return {name: x for name, x in self.contents.unread.items() if name in left}

    def calls(self, draws: Sequence[Draw], *, evaluates: bool) -> NoReturn:
        """Raise an error, because a dump cannot run torch."""
        del evaluates
        self.run(draws[0])

    def single_precision(self, draw: Draw) -> list[TorchRun]:
        """Return no runs: a dump contains only float64."""
        del draw
        return []

    def in_float32(self, draw: Draw) -> NoReturn:
        """Raise an error, because a dump cannot run torch."""
        self.run(draw)

    def native(self, draws: Sequence[Draw], always: bool = False) -> Native:
        """Return the dtypes in the dump."""
        del draws, always
        return self.contents.native

    def state_dtypes(self, training: Training) -> Mapping[str, str]:
        """Return the dtypes of the optimizer's state in the dump."""
        del training
        return self.contents.state_dtypes

    def differentiated(self, draw: Draw) -> Differentiated:
        """Return the gradients of a draw, and its loss."""
        run = self.contents.drawn[draw.number].run
        return run.grads, run.loss

    def steps(
        self,
        training: Training,
        draws: Sequence[Draw],
        steps: int,
        *,
        reruns: int = 2,
        kept: Sequence[int] | None = None,
        first: Sequence[Differentiated] = (),
    ) -> Steps:
        """Return the steps in the dump."""
        del training, draws, reruns, kept, first
        if self.contents.steps is None:
            raise ProofError(
                f"{self.path.name} contains no optimizer steps: write it with "
                "dump(..., optimizer=, steps=)"
            )
        if steps != self.contents.count:
            raise ProofError(
                f"steps={steps}, but {self.path.name} contains {self.contents.count}: pass "
                f"steps={self.contents.count}, or write another dump"
            )
        taken = self.contents.steps
        exact = self.contents.exact_steps
        return dataclasses.replace(taken, reruns=exact) if self._exact else taken

    def replay(
        self, training: Training, draw: Draw, gradients: Gradients, *, single: bool = False
    ) -> NoReturn:
        """Raise an error, because a dump cannot run torch."""
        del training, gradients, single
        self.run(draw)

    def state_dict(self, values: State) -> dict[str, np.ndarray]:
        """Return these values under the names of the module's state_dict."""
        state = {**self.state, **values}
        return {key: np.asarray(state[name]) for key, name in self.contents.names.items()}
