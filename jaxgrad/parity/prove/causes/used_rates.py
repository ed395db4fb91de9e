"""Measure the learning rates that the port's transformation uses, from its updates."""

from __future__ import annotations

import dataclasses
import math
from collections.abc import Iterator, Mapping, Sequence
from typing import Any

import numpy as np

from jaxgrad.parity.interop import to_numpy
from jaxgrad.parity.prove.evidence import Evidence
from jaxgrad.parity.prove.record.jax_side.loop import Loop
from jaxgrad.parity.prove.record.jax_side.port import Gradients
from jaxgrad.parity.prove.training import Training


_PROPORTIONAL = 3e-6  # how far an update may be from a multiple of torch's, which float32 rounds
_EQUAL = 1e-6  # how far two measurements of one rate may differ
Step = tuple[Sequence[Any], Mapping[str, Any]]  # the gradients of the port's leaves, and torch's


def rates(
    evidence: Evidence, training: Training, small: Sequence[Step], large: Sequence[Step]
) -> np.ndarray | None:
    """Return the port's learning rates by step and torch's parameter group, if they are known.

    Both optimizers are given the same gradients, and torch's keeps its learning rate. If each
    update of the port is a multiple of torch's, the factor gives the port's rate. A rate does not
    depend on the gradients, so that two sequences of gradients must give the same one.

    Args:
        evidence: The evidence of the proof.
        training: A training step. None is returned for one with `after=`.
        small: The gradients of each step.
        large: Other gradients for the same steps.
    """
    if training.after is not None or training.optax is None:
        return None
    first = _measured(evidence, training, small)
    other = None if first is None else _measured(evidence, training, large)
    if first is None or other is None:
        return None
    same = np.allclose(first, other, rtol=_EQUAL, atol=_EQUAL * float(np.max(np.abs(first))))
    return _rounded(first) if same else None


def _measured(evidence: Evidence, training: Training, given: Sequence[Step]) -> np.ndarray | None:
    """Return the rates that one sequence of gradients shows; None if it shows none."""
    from jaxgrad.parity.prove.record.torch_side import loop

    draw, side = evidence.draws[0], evidence.torch_side
    groups = loop.groups(training, side.module)
    apart = evidence.port.weights.not_one_to_one
    port = Loop(evidence.port, training, draw, evidence.trained)
    factors: list[dict[int, float]] = []
    before: dict[str, Any] = dict(draw.state)

    def follow(module: Any) -> None:
        """Make the port's step, compare its updates with torch's, and copy its weights."""
        leaves = given[len(factors)][0]
        port.step(lambda *_: Gradients([], list(leaves), {}))
        actual = port.parameters()
        moves: dict[int, list[tuple[np.ndarray, np.ndarray]]] = {}
        for name, parameter in module.named_parameters():
            if name in actual and name in groups and name not in apart:
                pair = (to_numpy(parameter) - before[name], actual[name] - before[name])
                moves.setdefault(groups[name], []).append(pair)
                before[name] = actual[name]
                parameter.copy_(_like(actual[name], parameter))
        factors.append({group: _factor(pairs) for group, pairs in moves.items()})

    steady = dataclasses.replace(
        training, scheduler=None, schedule=None, ema=None, after=(follow, lambda params: params)
    )
    taken = list(side.replay(steady, draw, _torchs(given)))
    found = []
    for (used, _), factor in zip(taken, factors, strict=True):
        known = set(factor) == set(range(len(used))) and not any(map(math.isnan, factor.values()))
        if not known or not all(used):
            return None
        found.append([rate * factor[group] for group, rate in enumerate(used)])
    return np.array(found)


def _torchs(given: Sequence[Step]) -> Iterator[Mapping[str, Any]]:
    return (gradients for _, gradients in given)


def _like(x: np.ndarray, parameter: Any) -> Any:
    import torch

    return torch.as_tensor(np.array(x)).to(parameter.dtype).reshape(parameter.shape)


def _factor(pairs: Sequence[tuple[np.ndarray, np.ndarray]]) -> float:
    """Return JAX's updates of a group relative to torch's, or NaN if they are not proportional."""
    x, y = (np.concatenate([np.ravel(pair[k]) for pair in pairs]) for k in (0, 1))
    size = float(np.vdot(x, x).real)
    factor = float(np.vdot(x, y).real) / size if size else 0.0
    near = np.linalg.norm(y - factor * x) <= _PROPORTIONAL * np.linalg.norm(x)
    return factor if size and near else math.nan


def _rounded(rates: np.ndarray) -> np.ndarray:
    """Round each rate to seven digits if that changes it by no more than rounding does."""
    short = np.vectorize(lambda x: float(f"{x:.7g}"), otypes=[float])(rates)
    return np.where(np.abs(short - rates) <= 1e-9 * np.abs(rates), short, rates)
