"""Prove that a JAX port has the gradients of its torch module, or name the first place it has not.

    report = jaxgrad.parity.prove(torch_module, fn, params, inputs)

Nothing in either model is edited: the values inside are recognised by what they are.
"""

from __future__ import annotations

import contextlib
import ctypes
import os
import pathlib
import time
from collections.abc import Callable, Iterator, Mapping
from typing import TYPE_CHECKING, Any

from jaxgrad.parity.prove import adapters as front
from jaxgrad.parity.prove.adapters import ProofError, scene
from jaxgrad.parity.prove.report import SURFACES, Report, Surface, worst


if TYPE_CHECKING:
    from jaxgrad.parity.prove.evidence import Proof


def prove(
    module: Any,
    fn: Any,
    params: Any = None,
    inputs: Any = None,
    *,
    weights: Callable[..., Any] | Mapping[str, Any] | None = None,
    outputs: tuple[Callable[..., Any] | None, Callable[..., Any] | None] | None = None,
    loss: tuple[Callable[..., Any], Callable[..., Any]] | None = None,
    trainable: Any = None,
    optimizer: tuple[Callable[..., Any], Any] | None = None,
    steps: int = 0,
    has_state: bool = False,
    seed: int = 0,
    progress: Callable[[str], None] | None = None,
) -> Report:
    """Compare the gradients of a torch module with those of its JAX port, surface by surface.

    Args:
      module: A `torch.nn.Module`, in the mode (train or eval) that is meant; or the path of a
        `dump` of one, where torch is not installed.
      fn: `fn(params, *inputs) -> outputs`; or a flax nnx, linen or equinox module.
      params: The port's parameters, any tree; for linen its variables; None for a module that
        holds its own.
      inputs: A tuple of numpy arrays, given to both sides; a mapping for named arguments. A dump
        holds its own.
      weights: `state_dict -> params`, or torch name -> path, (path, axes) or (path, function),
        where the map cannot be seen from the values.
      outputs: (torch_pick, jax_pick): what of the results is compared.
      loss: (torch_loss, jax_loss) of the outputs (or of outputs and inputs), each a scalar;
        without it every floating output gets a random cotangent.
      trainable: Which JAX leaves train, where that is not what torch's flags say: a tree of
        bool, a function of the path, or paths with wildcards.
      optimizer: (torch_factory, optax transformation); the factory takes the parameters.
      steps: How many steps of it to compare.
      has_state: `fn` returns (outputs, new_state); the state is compared with torch's buffers.
      seed: Of the cotangents and of the second draw.
      progress: Called with the name of each step as it begins.

    Returns:
      A `Report`. It never raises for a wrong or unusable port: the verdict says so.

    Torch: `torch.autograd.gradcheck` compares a module with itself; this compares two.

    Example:
      >>> import torch, numpy as np, jax.numpy as jnp
      >>> from jaxgrad.parity import prove
      >>> layer = torch.nn.Linear(3, 2)
      >>> params = {k: v.detach().numpy() for k, v in layer.state_dict().items()}
      >>> def port(params, x):
      ...     return x @ params["weight"].T + params["bias"]
      >>> prove(layer, port, params, (np.ones((4, 3)),)).verdict
      'pass'
    """
    clock = Clock(progress)
    side = pathlib.Path(module).name if isinstance(module, str | os.PathLike) else None
    name = f"{side or type(module).__name__} | {front.name_of(fn)}"
    with scene():
        try:
            from jaxgrad.parity.prove.evidence import Proof

            proof = Proof(
                module,
                fn,
                params,
                inputs,
                weights,
                outputs,
                loss,
                trainable,
                has_state,
                seed,
                clock,
            )
            surfaces = _judged(proof, optimizer, steps)
        except ProofError as error:
            return _error(str(error), name, clock)
    first = next((f for s in surfaces.values() for f in s.findings if s.verdict == "fail"), None)
    return Report(
        verdict=worst(surfaces),
        surfaces=surfaces,
        first=first,
        name=name,
        notes=tuple(proof.notes),
        not_visible=tuple(proof.not_visible),
        seconds=clock.seconds,
        versions=front.versions() | dict(proof.side.versions),
    )


def _judged(proof: Proof, optimizer: Any, steps: int) -> dict[str, Surface]:
    """The five answers; where the forward pass differs, nothing behind it is judged."""
    from jaxgrad.parity.prove.surfaces import backward as backward_surface
    from jaxgrad.parity.prove.surfaces import forward as forward_surface
    from jaxgrad.parity.prove.surfaces import gradients as gradients_surface
    from jaxgrad.parity.prove.surfaces import structure
    from jaxgrad.parity.prove.surfaces import updates as updates_surface

    made = {"structure": structure.surface(proof), "forward": forward_surface.surface(proof)}
    if made["forward"].verdict == "fail":
        text = "the forward pass differs already"
        made |= {name: Surface(name, "not judged", text) for name in SURFACES[2:]}
        if optimizer is None and not proof.port.has_state:
            made["updates"] = Surface("updates", "not judged", "no optimizer= was given")
        return made
    gradients = gradients_surface.surface(proof)
    made["backward"] = backward_surface.surface(proof)
    made["gradients"] = gradients
    with proof.clock("updates"):
        made["updates"] = updates_surface.surface(proof, optimizer, steps)
    return made


class Clock:
    """Where the time goes.

    Args:
      progress: Called with the name of each step as it begins.
    """

    def __init__(self, progress: Callable[[str], None] | None = None) -> None:
        self.progress = progress
        self.seconds: dict[str, float] = {}

    @contextlib.contextmanager
    def __call__(self, name: str) -> Iterator[None]:
        if self.progress is not None:
            self.progress(name)
        start = time.perf_counter()
        try:
            yield
        finally:
            self.seconds[name] = self.seconds.get(name, 0.0) + time.perf_counter() - start
            _trim()


def _trim() -> None:
    """Give freed memory back: glibc keeps blocks below 32 MiB, a quarter of a large proof's."""
    with contextlib.suppress(OSError, AttributeError):  # another C library
        ctypes.CDLL("libc.so.6").malloc_trim(0)


def _error(text: str, name: str, clock: Clock) -> Report:
    surfaces = {s: Surface(s, "not judged", "") for s in SURFACES}
    return Report("error", surfaces, None, text, name, seconds=clock.seconds)
