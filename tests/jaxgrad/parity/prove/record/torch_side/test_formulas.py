"""optax's formulas, written as torch optimizers, give optax's updates."""

from typing import Any

import jax.numpy as jnp
import numpy as np
import optax
import pytest
import torch

from jaxgrad.parity.prove.record.torch_side import formulas


START = np.array([1.0, -2.0, 0.5, 3.0])
GRADIENTS = np.random.default_rng(0).standard_normal((3, 4))
RATE = 0.1


def torch_path(edit: Any, build: Any) -> np.ndarray:
    """Return the weights after three steps of an edited torch optimizer."""
    p = torch.nn.Parameter(torch.tensor(START))
    frozen = torch.nn.Parameter(torch.tensor(START))
    optimizer = edit(build([p, frozen]))
    for gradient in GRADIENTS:
        p.grad = torch.tensor(gradient)
        optimizer.step()
    assert torch.equal(frozen, torch.tensor(START))
    return p.detach().numpy()


def optax_path(tx: optax.GradientTransformation) -> np.ndarray:
    """Return the weights after three steps of an optax transformation."""
    params = jnp.asarray(START)
    state = tx.init(params)
    for gradient in GRADIENTS:
        updates, state = tx.update(jnp.asarray(gradient), state, params)
        params = optax.apply_updates(params, updates)
    return np.asarray(params)


def check(edit: Any, build: Any, tx: optax.GradientTransformation) -> None:
    np.testing.assert_allclose(torch_path(edit, build), optax_path(tx), rtol=1e-12)


@pytest.mark.parametrize("inside", [True, False])
@pytest.mark.parametrize(
    ("alpha", "initial", "torch_settings", "optax_settings"),
    [
        (None, 0.0, {}, {"decay": 0.99}),
        (0.9, 0.0, {}, {"decay": 0.9}),
        (0.9, 1.0, {"eps": 1e-2}, {"decay": 0.9, "eps": 1e-2, "initial_scale": 1.0}),
        (None, 0.5, {"centered": True}, {"decay": 0.99, "initial_scale": 0.5, "centered": True}),
    ],
)
def test_rmsprop_is_optaxs(inside, alpha, initial, torch_settings, optax_settings):
    """Decay, eps inside or outside the root, the initial scale and centering are optax's."""
    check(
        formulas.rmsprop(alpha, inside=inside, initial=initial),
        lambda p: torch.optim.RMSprop(p, RATE, **torch_settings),
        optax.rmsprop(RATE, eps_in_sqrt=inside, **{"eps": 1e-8} | optax_settings),
    )


def test_rmsprop_with_momentum_and_decay_is_torchs():
    """With torch's own settings the formula is torch's, with momentum and weight decay."""
    settings: dict[str, Any] = dict(momentum=0.9, weight_decay=0.1, centered=True)

    def build(parameters: Any) -> Any:
        return torch.optim.RMSprop(parameters, RATE, **settings)

    own = torch_path(formulas.rmsprop(None, inside=False, initial=0.0), build)
    np.testing.assert_allclose(own, torch_path(lambda x: x, build), rtol=1e-12)


@pytest.mark.parametrize("eps", [None, 0.0, 1e-2])
def test_adam_with_a_root_is_optaxs(eps):
    """`eps_root` is inside the square root, eps outside."""
    check(
        formulas.adam(1e-3, eps),
        lambda p: torch.optim.Adam(p, RATE, (0.8, 0.95), eps=1e-3),
        optax.adam(RATE, 0.8, 0.95, 1e-3 if eps is None else eps, 1e-3),
    )


def test_nadam_is_optaxs():
    """The first moment is one step ahead, and torch's Adam has no such setting."""
    tx = optax.adam(RATE, 0.8, 0.95, nesterov=True)
    check(formulas.adam(nesterov=True), lambda p: torch.optim.Adam(p, RATE, (0.8, 0.95)), tx)


def test_adam_without_bias_correction_divides_the_moments_as_they_are():
    own = torch_path(formulas.adam(corrected=False), lambda p: torch.optim.Adam(p, RATE))
    first, second, weights = np.zeros(4), np.zeros(4), START
    for g in GRADIENTS:
        first, second = 0.9 * first + 0.1 * g, 0.999 * second + 0.001 * g * g
        weights = weights - RATE * first / (np.sqrt(second) + 1e-8)
    np.testing.assert_allclose(own, weights, rtol=1e-12)


def test_the_hooks_of_the_optimizer_are_kept():
    """A hook before the step clips the gradients, one after it halves the learning rate."""

    def build(parameters: Any) -> Any:
        optimizer = torch.optim.Adam(parameters, RATE, eps=0.1)

        def clip(*_: Any) -> None:
            torch.nn.utils.clip_grad_norm_(parameters, 0.5)

        def halve(*_: Any) -> None:
            optimizer.param_groups[0]["lr"] /= 2

        optimizer.register_step_pre_hook(clip)
        optimizer.register_step_post_hook(halve)
        return optimizer

    own = torch_path(formulas.adam(), build)
    np.testing.assert_allclose(own, torch_path(lambda x: x, build), rtol=1e-12)


@pytest.mark.parametrize("kind", [torch.optim.Adam, torch.optim.AdamW])
def test_adam_without_a_root_is_torchs(kind):
    """The weight decay is added to the gradient, or decoupled in AdamW."""

    def build(parameters: Any) -> Any:
        return kind(parameters, RATE, weight_decay=0.1)

    own = torch_path(formulas.adam(0.0), build)
    np.testing.assert_allclose(own, torch_path(lambda x: x, build), rtol=1e-12)


@pytest.mark.parametrize(("initial", "eps"), [(0.1, 1e-3), (0.0, None), (0.5, 0.0)])
def test_adagrad_is_optaxs(initial, eps):
    """The accumulator starts at a number, and eps is inside the root."""
    check(
        formulas.adagrad(initial, eps),
        lambda p: torch.optim.Adagrad(p, RATE, eps=1e-2),
        optax.adagrad(RATE, initial, 1e-2 if eps is None else eps),
    )


def test_adagrad_with_decay_adds_it_to_the_gradient():
    """optax chains the decay before its Adagrad; an accumulator of zero does not move a weight."""
    check(
        formulas.adagrad(0.1, 1e-3),
        lambda p: torch.optim.Adagrad(p, RATE, weight_decay=0.1),
        optax.chain(optax.add_decayed_weights(0.1), optax.adagrad(RATE, 0.1, 1e-3)),
    )
    p = torch.nn.Parameter(torch.tensor([1.0, 1.0]))
    optimizer = formulas.adagrad(0.0, 0.0)(torch.optim.Adagrad([p], 1.0))
    p.grad = torch.tensor([0.0, 2.0])
    optimizer.step()
    assert p.tolist() == [1.0, 0.0]


@pytest.mark.parametrize(
    ("edit", "name"),
    [
        (formulas.rmsprop(None, inside=True, initial=0.0), "RMSprop"),
        (formulas.adam(0.0), "Adam"),
        (formulas.adagrad(0.0, None), "Adagrad"),
    ],
)
def test_a_formula_of_another_optimizer_does_not_apply(edit, name):
    """An edit of one optimizer refuses the others."""
    optimizer = torch.optim.SGD([torch.nn.Parameter(torch.ones(1))], 0.1)
    with pytest.raises(TypeError, match=f"SGD is not {name}"):
        edit(optimizer)
