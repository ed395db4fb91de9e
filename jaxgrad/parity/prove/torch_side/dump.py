"""torch's side of a proof in a file, for machines without torch."""

from __future__ import annotations

import dataclasses
import os
import pathlib
from collections.abc import Callable, Mapping, Sequence
from typing import Any, NoReturn

import numpy as np

from jaxgrad.parity.prove.adapters import ProofError, scene
from jaxgrad.parity.prove.jax_side.port import Draw
from jaxgrad.parity.prove.torch_side import packing
from jaxgrad.parity.prove.torch_side.side import Drawn, State, Steps
from jaxgrad.parity.prove.torch_side.values import Call, TorchRun, Value


FORMAT = 1


@dataclasses.dataclass
class Dump:
    """What is in the file."""

    format: int
    torch: str  # its version
    seed: int
    has_loss: bool
    drawn: list[Drawn]
    fine: list[list[TorchRun]]  # the reruns of each draw, were `rough` buffers exact
    rough: list[str]  # buffers that float32 rounded, if the port computes them itself
    flags: dict[str, bool]
    names: dict[str, str]  # of the state_dict -> of the state, where a tied weight is once
    steps: Steps | None
    fine_steps: list[dict[int, State]]
    count: int  # how many steps
    notes: list[str]


_RECORDS = (Dump, Drawn, Draw, TorchRun, Value, Call, Steps)


def dump(
    module: Any,
    inputs: Any,
    path: str | os.PathLike[str],
    *,
    outputs: Callable[..., Any] | None = None,
    loss: Callable[..., Any] | None = None,
    optimizer: Callable[..., Any] | None = None,
    steps: int = 0,
    seed: int = 0,
) -> None:
    """Write torch's side of a proof to one file, for `prove(path, fn, params)` without torch.

    Args:
      module: A `torch.nn.Module`, in the mode (train or eval) that is meant.
      inputs: A tuple of numpy arrays; a mapping for named arguments.
      path: Where to; one .npz file without pickled objects. It holds the weights twice and each
        gradient six times, in float64.
      outputs: What of the module's result is compared, as torch's half in `prove`.
      loss: Of the outputs, a scalar, as torch's half in `prove`.
      optimizer: The torch factory, as in `prove`.
      steps: How many steps of it.
      seed: Of the cotangents and of the second draw; `prove` takes it from the file.

    Raises:
      ProofError: The module or the inputs cannot be used; the text says why.

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

    Torch: `torch.save` of the weights alone; this also holds what the module does with them.
    """
    import torch

    from jaxgrad.parity.prove.jax_side.port import rounded_buffers
    from jaxgrad.parity.prove.torch_side.live import Live

    with scene():
        side = Live(module, inputs, outputs, loss, seed)
        # Which weights the port will take is not known yet: surely all parameters, and the
        # statistics of norms. Other buffers (tables, masks) stay as they are.
        statistics = ("running_mean", "running_var")
        mapped = [n for n in side.state if n in side.flags or n.endswith(statistics)]
        drawn = side.drawn(mapped)
        made = side.steps(optimizer, max(1, steps)) if optimizer is not None else None
        rough = rounded_buffers(side.module, mapped)
        side.rough = ()
        fine = [side.again(d.draw, d.run) for d in drawn] if rough else []
        again = side.steps(optimizer, max(1, steps)).again if rough and optimizer else []
    known = {id(x): name for name, x in [*module.named_parameters(), *module.named_buffers()]}
    state_dict = module.state_dict(keep_vars=True)
    held = Dump(
        format=FORMAT,
        torch=torch.__version__,
        seed=seed,
        has_loss=loss is not None,
        drawn=[Drawn(d.draw, _bare(d.run), [_bare(r) for r in d.again]) for d in drawn],
        fine=[[_bare(run) for run in runs] for runs in fine],
        rough=rough,
        flags=dict(side.flags),
        names={key: known[id(x)] for key, x in state_dict.items() if id(x) in known},
        steps=made,
        fine_steps=again,
        count=max(1, steps) if optimizer is not None else 0,
        notes=side.notes,
    )
    try:
        packing.write(path, held)
    except TypeError as error:
        raise ProofError(
            f"{error} to {path}: inputs are arrays, numbers and strings, in tuples, lists and dicts"
        ) from error


def _bare(run: TorchRun) -> TorchRun:
    """A run without the values themselves: their fingerprints do."""
    values = [
        dataclasses.replace(value, data=None, cotangent_data=None, call=None)
        for value in run.values
    ]
    return dataclasses.replace(run, values=values, parts={})


class Dumped:
    """torch's side as a dump holds it."""

    module: Any = None

    def __init__(self, path: str | os.PathLike[str]):
        self.path = pathlib.Path(path)
        if not self.path.is_file():
            raise ProofError(
                f"there is no dump {str(self.path)!r}: write one where torch is, with "
                "jaxgrad.parity.dump(module, inputs, path)"
            )
        try:
            held = packing.read(self.path, *_RECORDS)
            if not isinstance(held, Dump) or held.format != FORMAT:
                raise ValueError("it was written by another version of jaxgrad")
        except (ValueError, KeyError, TypeError) as error:
            raise ProofError(f"{str(self.path)!r} is no dump of jaxgrad: {error}") from error
        self.held: Dump = held
        self.seed, self.has_loss = held.seed, held.has_loss
        self.flags: Mapping[str, bool] = held.flags
        self.inputs: Any = held.drawn[0].draw.inputs
        self.state: State = held.drawn[0].draw.state
        self.notes: list[str] = [
            *held.notes,
            f"torch's side is read from {self.path.name}: causes that torch would have to be run "
            "for are not tried",
        ]
        self.versions: Mapping[str, str] = {"torch": held.torch}
        self._fine = True

    def drawn(self, mapped: Sequence[str]) -> list[Drawn]:
        """Both draws."""
        # A buffer that the port takes from torch is the same on both sides, rounded or not.
        self._fine = bool(self.held.rough) and set(self.held.rough) <= set(mapped)
        if not self._fine:
            return self.held.drawn
        pairs = zip(self.held.drawn, self.held.fine, strict=True)
        return [Drawn(d.draw, d.run, again) for d, again in pairs]

    def run(self, draw: Draw, **options: Any) -> NoReturn:
        """Not without torch."""
        del draw, options
        raise ProofError(f"{self.path.name} is a dump: torch cannot be run again")

    def single(self, draw: Draw) -> list[TorchRun]:
        """Nothing: a dump holds float64 alone."""
        del draw
        return []

    def steps(self, factory: Any, steps: int, *, reruns: int = 2) -> Steps:
        """The steps that were dumped."""
        del factory, reruns
        if self.held.steps is None:
            raise ProofError(
                f"{self.path.name} holds no steps: write it with dump(..., optimizer=, steps=)"
            )
        if steps != self.held.count:
            raise ProofError(f"steps={steps}, and {self.path.name} holds {self.held.count}")
        made = self.held.steps
        return dataclasses.replace(made, again=self.held.fine_steps) if self._fine else made

    def state_dict(self, values: State) -> dict[str, np.ndarray]:
        """These values under the names of the module's state_dict."""
        state = {**self.state, **values}
        return {key: np.asarray(state[name]) for key, name in self.held.names.items()}
