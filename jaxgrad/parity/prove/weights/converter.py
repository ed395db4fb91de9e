"""Run the user's converter from torch's state_dict to params, and differentiate it."""

from __future__ import annotations

import functools
from collections.abc import Callable, Mapping, Sequence
from typing import Any

import jax
import numpy as np

from jaxgrad._core import paths as _paths
from jaxgrad.parity.interop import to_numpy
from jaxgrad.parity.prove.record.adapters import as_function
from jaxgrad.parity.prove.record.jax_side import program as jax_program
from jaxgrad.parity.prove.record.torch_side.side import TorchSide
from jaxgrad.parity.prove.users import ProofError, described, running
from jaxgrad.parity.prove.weights.map import ConversionRule, Tensors
from jaxgrad.parity.prove.weights.stand_in import StandIn, kept_by_numpy, unwrapped


Grads = Mapping[int, np.ndarray]


class Converter:
    """A function `state_dict -> params` as a function from tensors by name to leaves."""

    def __init__(self, convert: Callable[..., Any], side: TorchSide, fn: Any):
        self.convert, self.side, self.fn = convert, side, fn
        self._takes_arrays = False

    def params(self, tensors: Tensors) -> Any:
        """Convert tensors; a converter that rejects torch tensors gets numpy arrays."""
        state = self.side.state_dict(tensors)
        try:
            if not self._takes_arrays:
                return self.convert(state)
        except (TypeError, AttributeError):
            self._takes_arrays = True
        except KeyError as error:
            raise ProofError(
                f"weights= looked up {error}, but the state_dict has only {list(state)}"
            ) from error
        except Exception as error:
            raise ProofError(f"weights=: the converter raised {described(error)}") from error
        with running("weights=: the converter"):
            return self.convert({name: to_numpy(x) for name, x in state.items()})

    def leaves(self, tensors: Tensors) -> list[np.ndarray]:
        """Return the array leaves of the params in the dtype of the converter."""
        return _arrays(as_function(self.fn, self.params(tensors)).params)

    def pick(self, leaves: Sequence[int]) -> Callable[[Tensors], dict[int, np.ndarray]]:
        """Return a function from tensors to some of the leaves."""

        def some(tensors: Tensors) -> dict[int, np.ndarray]:
            values = self.leaves(tensors)
            return {i: values[i] for i in leaves}

        return some

    def rule(self, leaves: Sequence[int], paths: Sequence[str], at: Tensors) -> ConversionRule:
        """Return the rule for leaves that are not linear, which torch or JAX differentiates.

        Raises:
            ProofError: Neither can differentiate the converter.
        """
        for differentiate in (self._by_torch, self._by_jax, self._by_stand_ins):
            try:
                names = self._names(differentiate, leaves, paths, at)
            except Exception:  # the converter uses functions of another framework
                continue
            if names is not None:
                transpose = functools.partial(differentiate, paths)
                return ConversionRule(names, functools.partial(self._widened, leaves), transpose)
        raise ProofError(
            f"weights= computes leaf {paths[leaves[0]]!r} in a way that is not linear and that "
            "neither torch nor JAX can differentiate: write this part with jax.numpy or torch "
            "operations on the tensors of the state_dict"
        )

    def _widened(self, leaves: Sequence[int], tensors: Tensors) -> dict[int, np.ndarray]:
        return {i: jax_program.widened(x) for i, x in self.pick(leaves)(tensors).items()}

    def _names(
        self, differentiate: Any, leaves: Sequence[int], paths: Sequence[str], at: Tensors
    ) -> dict[int, tuple[str, ...]] | None:
        """Return the tensors that each leaf depends on, or None if a derivative is wrong."""
        rng = np.random.default_rng(29)
        moved = {name: rng.standard_normal(x.shape) for name, x in at.items()}
        size = 1e-4
        ahead, behind = (
            self.pick(leaves)({name: x + sign * size * moved[name] for name, x in at.items()})
            for sign in (1, -1)
        )
        names = {}
        for leaf in leaves:
            grad = rng.standard_normal(ahead[leaf].shape)
            parts = differentiate(paths, at, {leaf: grad})
            expected = np.sum(grad * (ahead[leaf] - behind[leaf])) / (2 * size)
            products = {name: np.sum(part * moved[name]) for name, part in parts.items()}
            scale = np.linalg.norm(grad) * np.max(np.abs(ahead[leaf]), initial=1e-30)
            if not abs(sum(products.values()) - expected) <= 1e-4 * scale:
                return None
            names[leaf] = tuple(name for name, part in parts.items() if np.any(part))
        return names

    def _by_torch(self, paths: Sequence[str], at: Tensors, grads: Grads) -> Tensors:
        """Differentiate a converter that computes with torch."""
        import torch

        state = {
            key: x.requires_grad_() if x.is_floating_point() or x.is_complex() else x
            for key, x in self.side.state_dict(at).items()
        }
        values = _by_path(self.convert(state), paths)
        weighted = [(values[i], torch.tensor(grad)) for i, grad in grads.items()]
        keys = [key for key, x in state.items() if x.requires_grad]
        parts = torch.autograd.grad(
            [x for x, _ in weighted],
            [state[key] for key in keys],
            [grad.to(x.dtype) for x, grad in weighted],
            allow_unused=True,
        )
        return self._by_name(at, dict(zip(keys, parts, strict=True)))

    def _by_jax(self, paths: Sequence[str], at: Tensors, grads: Grads) -> Tensors:
        """Differentiate a converter that computes with JAX."""
        return self._traced(paths, at, grads, lambda x: x)

    def _by_stand_ins(self, paths: Sequence[str], at: Tensors, grads: Grads) -> Tensors:
        """Differentiate a converter that calls methods of torch tensors, or numpy functions."""
        return self._traced(paths, at, grads, StandIn)

    def _traced(
        self, paths: Sequence[str], at: Tensors, grads: Grads, wrap: Callable[[Any], Any]
    ) -> Tensors:
        state = {key: to_numpy(x) for key, x in self.side.state_dict(at).items()}
        floating = {k: x for k, x in state.items() if np.issubdtype(x.dtype, np.inexact)}

        def run(floating: Mapping[str, Any]) -> dict[int, Any]:
            wrapped = {key: wrap(x) for key, x in {**state, **floating}.items()}
            with kept_by_numpy():
                values = _by_path(unwrapped(self.convert(wrapped)), paths)
            return {i: jax.numpy.asarray(values[i]) for i in grads}

        values, transpose = jax.vjp(run, floating)
        (parts,) = transpose({i: np.conj(g).astype(values[i].dtype) for i, g in grads.items()})
        return self._by_name(at, {key: np.conj(part) for key, part in parts.items()})

    def _by_name(self, at: Tensors, parts: Mapping[str, Any]) -> dict[str, np.ndarray]:
        """Add the gradients of the state_dict's entries under the names of the tensors."""
        totals = {name: np.zeros(x.shape, x.dtype) for name, x in at.items()}
        for key, part in parts.items():
            name = self.side.names.get(key)
            if part is not None and name in totals:
                totals[name] = totals[name] + to_numpy(part)
        return totals


def _by_path(params: Any, paths: Sequence[str]) -> list[Any]:
    """Return the leaves of params in the order of `paths`, whatever their type."""
    leaves = dict(_paths.named(params))
    return [leaves.get(path) for path in paths]


def _arrays(params: Any) -> list[np.ndarray]:
    leaves = jax.tree.leaves(params)
    return [np.asarray(x) for x in leaves if jax_program.is_array(x)]
