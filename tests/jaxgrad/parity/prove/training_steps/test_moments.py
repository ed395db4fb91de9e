"""The moments of both optimizers are matched by name, and judged."""

from types import SimpleNamespace
from typing import Any

import jax
import numpy as np
import optax
import pytest
import torch

import jaxgrad
from jaxgrad.parity.prove.evidence import Evidence
from jaxgrad.parity.prove.training_steps import moments
from tests.jaxgrad.parity.prove._helpers import updated


def adam(parameters: Any) -> Any:
    return torch.optim.Adam(parameters, 1e-3)


def by_kind(params: Any) -> Any:
    return jax.tree.map(lambda x: "matrix" if x.ndim > 1 else "vector", params)


def injected(**settings: Any) -> Any:
    return optax.inject_hyperparams(optax.adam)(learning_rate=1e-3, **settings)


def groups(**settings: Any) -> Any:
    kinds: Any = {"head": dict(lr=1e-3), "rest": dict(lr=1e-3)}
    labels = lambda name: "head" if name.startswith("head") else "rest"  # noqa: E731
    return jaxgrad.optim.param_groups(jaxgrad.optim.adam, kinds, labels, **settings)


def transformed(**settings: Any) -> Any:
    both: Any = {"matrix": optax.adam(1e-3, **settings), "vector": optax.adam(1e-3, **settings)}
    return optax.multi_transform(both, by_kind)


MAKERS = {
    "optax": (lambda **s: optax.adam(1e-3, **s), dict(b2=0.99), dict(b2=0.999)),
    "chain": (
        lambda **s: optax.chain(optax.identity(), optax.scale_by_adam(**s), optax.scale(-1e-3)),
        dict(b2=0.99),
        {},
    ),
    "inject_hyperparams": (injected, dict(b2=0.99), {}),
    "multi_transform": (transformed, dict(b2=0.99), {}),
    "MultiSteps": (lambda **s: optax.MultiSteps(optax.adam(1e-3, **s), 1), dict(b1=0.8), {}),
    "jaxgrad": (lambda **s: jaxgrad.optim.adam(1e-3, **s), dict(betas=(0.9, 0.99)), {}),
    "param_groups": (groups, dict(betas=(0.8, 0.999)), {}),
}


@pytest.mark.sampled(7)
@pytest.mark.parametrize("name", MAKERS)
def test_a_moment_that_differs_fails(evidence: Evidence, name: str):
    """Adam's first step does not depend on its betas, but its moments do."""
    make, wrong, right = MAKERS[name]
    surface = updated(evidence, (adam, make(**right)))
    assert surface.verdict == "pass"
    assert "12 optimizer moments agree within" in surface.text
    surface = updated(evidence, (adam, make(**wrong)))
    assert surface.verdict == "fail" and "exp_avg" in surface.findings[0].text
    assert "6 of 12 optimizer moments differ" in surface.text
    assert "beta" in surface.findings[0].cause


OTHERS = {
    "sgd": (lambda p: torch.optim.SGD(p, 0.1, momentum=0.9), optax.sgd(0.1, momentum=0.9), 6),
    "adagrad": (
        lambda p: torch.optim.Adagrad(p, 0.1, eps=0.0),
        optax.adagrad(0.1, initial_accumulator_value=0.0, eps=0.0),
        6,
    ),
    "rmsprop": (
        lambda p: torch.optim.RMSprop(p, 0.1, momentum=0.9, centered=True),
        optax.rmsprop(0.1, 0.99, momentum=0.9, centered=True, eps_in_sqrt=False),
        18,
    ),
    "adamax": (lambda p: torch.optim.Adamax(p, 0.1), optax.adamax(0.1), 12),
    "adadelta": (
        lambda p: torch.optim.Adadelta(p, 0.1),
        optax.adadelta(0.1, rho=0.9, eps=1e-6),
        12,
    ),
}


@pytest.mark.sampled(3)
@pytest.mark.parametrize(("factory", "tx", "count"), OTHERS.values(), ids=OTHERS)
def test_optax_moments_have_torch_names(evidence: Evidence, factory: Any, tx: Any, count: int):
    """optax's states have other names for torch's moments, and RMSprop's trace has a factor."""
    surface = updated(evidence, (factory, tx), 2)
    assert surface.verdict == "pass", surface
    assert f"{count} optimizer moments agree within" in surface.text


def test_moments_that_cannot_be_matched_are_mentioned(evidence: Evidence):
    """A state whose fields have other names passes, and the report says so."""

    def init(params: Any) -> Any:
        return jax.tree.leaves(optax.adam(1e-3).init(params))

    def update(updates: Any, state: Any, params: Any = None) -> Any:
        tx = optax.adam(1e-3)
        tree = jax.tree.structure(tx.init(params))
        updates, state = tx.update(updates, jax.tree.unflatten(tree, state), params)
        return updates, jax.tree.leaves(state)

    surface = updated(evidence, (adam, optax.GradientTransformation(init, update)))
    assert surface.verdict == "pass", surface
    assert "moments are not compared, because their names" in surface.text


A, B = np.array([1.0, -0.5]), np.array([0.25, 2.0])


def port(used: Any = (0, 1), shape: Any = (2,), merged: Any = ()) -> Any:
    """Return a port of two vectors, the second of which may be held in another way."""
    pieces = [("a", [0, 1]), ("b", list(used))]
    weights = SimpleNamespace(
        leaves=[A, B],
        to_torch=lambda leaves: dict(zip("ab", leaves, strict=True)),
        leaves_of=lambda name: ["ab".index(name)],
        pieces=[SimpleNamespace(name=name, used=np.array(places)) for name, places in pieces],
        shapes={"a": (2,), "b": shape},
        not_one_to_one=merged,
    )
    return SimpleNamespace(weights=weights, program=SimpleNamespace(param_paths=["a", "b"]))


def compared(b: Any = B, *, left_out: Any = (), reruns: Any = (), **fields: Any) -> Any:
    """Compare torch's `exp_avg` with optax's `mu`, whose second leaf may differ."""
    state = optax.ScaleByAdamState(np.zeros(()), {"a": A, "b": b}, {"a": A, "b": np.ones(3)})  # pyright: ignore[reportArgumentType]
    expected = fields.pop("expected", {"a": {"exp_avg": A}, "b": {"exp_avg": B}})
    found = moments.compare(port(**fields), expected, reruns, (state,), set(left_out))
    return {m.name: m.judged.verdict for m in found}


def test_moments_are_compared_if_both_sides_have_them():
    """A moment, a parameter or a shape that one side lacks is left out."""
    assert compared() == {"a": "pass", "b": "pass"}
    assert compared(B + 1e-9) == {"a": "pass", "b": "fail"}
    assert compared(left_out=["a"]) == {"b": "pass"}
    assert compared(np.ones(3)) == {"a": "pass"}
    assert compared(expected={"a": {"exp_avg": A}}) == {"a": "pass"}
    assert compared(expected={"a": {"exp_avg": A}, "b": {"step": B}}) == {"a": "pass"}
    assert compared(expected={"a": {"exp_avg": A}, "b": {"exp_avg": np.ones(3)}}) == {"a": "pass"}


def test_a_moment_is_relative_to_its_scale_and_to_torchs_rounding():
    """A moment of zeros is relative to the largest one of its name."""
    zero = {"a": {"exp_avg": A}, "b": {"exp_avg": 0 * B}}
    assert compared(0 * B + 0.9e-12, expected=zero)["b"] == "pass"
    assert compared(0 * B + 1.1e-12, expected=zero)["b"] == "fail"
    reruns = [{"a": {"exp_avg": A}}, {"b": {"exp_avg": B + 1e-9}}, {"b": {"step": B}}]
    assert compared(B + 1e-9, reruns=reruns) == {"a": "pass", "b": "pass"}


@pytest.mark.parametrize(
    ("used", "shape", "merged"),
    [((0, 1), (2,), ("b",)), ((0, 0), (2,), ()), ((0, 1), (3,), ()), ((0, 1, 1), (2,), ())],
)
def test_a_parameter_that_is_not_held_once_has_no_moments(used, shape, merged):
    """Moments of a parameter that JAX merges, holds in part, or holds twice are not compared."""
    assert compared(used=used, shape=shape, merged=merged) == {"a": "pass"}


@pytest.mark.parametrize(
    ("actual", "holds"),
    [
        ([-2.0, -4.0], True),
        ([2.0, 4.0], False),
        ([-2.0 + 4e-9, -4.0], True),
        ([-2.0 + 7.5e-9, -4.0], False),
        ([-2e-3 + 7.5e-12, -4e-3], False),
        ([0.0, 0.0], False),
        ([-2.0], False),
    ],
)
def test_a_negative_multiple_accumulates_updates(actual, holds):
    """optax's RMSprop multiplies the momentum by the negative learning rate."""
    expected = np.array([1.0, 2.0])[: len(actual)]
    assert moments._holds_the_rate(expected, np.array(actual)) is holds
    assert not moments._holds_the_rate(0 * expected, np.array(actual))


def test_large_moments_are_counted():
    """A counter of steps is no moment."""
    assert moments.count({"a": {"step": np.ones(()), "mu": A}, "b": {"nu": np.ones(1)}}) == 1
