"""What the cards on kinks say about training happens in one step of SGD."""

import inspect

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
import torch

from jaxgrad import functional
from jaxgrad._core.torch_versions import BOUND_OF_CLAMP, convention
from parity_tests.site.traps.operators import KINKS, LAYERS


WHY = {card.name: card.trap for card in (*KINKS, *LAYERS)}


def _gradients(torch_loss, jax_loss, start):
    x = torch.tensor(start, requires_grad=True)
    torch_loss(x).backward()
    assert x.grad is not None
    return x.grad.tolist(), jax.grad(jax_loss)(jnp.array(start)).tolist()


@pytest.mark.parametrize(
    ("name", "said", "losses", "start", "expected"),
    [
        (
            "`clamp` at a bound",
            "takes half a step",
            (lambda x: x.clamp(-1, 1).sum(), lambda x: jnp.clip(x, -1, 1).sum()),
            [1.0],
            ([0.0 if BOUND_OF_CLAMP.holds(convention()) else 1.0], [0.5]),
        ),
        (
            "`abs` at 0",
            "moves a weight away from 0 in the port, and leaves it there in torch",
            (lambda x: x.abs().sum(), lambda x: jnp.abs(x).sum()),
            [0.0],
            ([0.0], [1.0]),
        ),
        (
            "`max` over a dim, ties",
            "moves one of two tied weights in torch, and both in the port",
            (lambda x: x.max(0).values, lambda x: x.max(0)),
            [3.0, 3.0],
            ([1.0, 0.0], [0.5, 0.5]),
        ),
        (
            "`max()` of everything, ties",
            "moves both of two tied weights in torch, and one in the port",
            (lambda x: x.max(), lambda x: x[x.argmax()]),
            [3.0, 3.0],
            ([0.5, 0.5], [1.0, 0.0]),
        ),
    ],
    ids=lambda value: value if isinstance(value, str) else "",
)
def test_a_step_of_a_card(name, said, losses, start, expected):
    """The gradients, and so a step of SGD, differ as the card says."""
    assert said in WHY[name]
    torch_loss, jax_loss = losses
    assert _gradients(torch_loss, jax_loss, start) == expected


def test_a_layer_of_zeros_before_relu_learns_only_in_the_port():
    """torch's relu passes nothing at 0; `maximum` passes half, to each weight of the layer."""
    data = np.array([[1.0, 2.0], [3.0, -1.0]], np.float32)
    assert (
        "A layer of zeros before it learns in the port, and never in torch." in WHY["`relu` at 0"]
    )

    of_torch, of_jax = _gradients(
        lambda w: (torch.relu(torch.tensor(data) @ w) - 1).square().sum(),
        lambda w: jnp.square(jnp.maximum(data @ w, 0) - 1).sum(),
        [[0.0], [0.0]],
    )
    assert not np.any(of_torch) and np.all(of_jax)


def test_one_zero_vector_makes_the_gradient_of_the_layer_before_it_nan():
    """Only the first row of the batch is zero, and every gradient of the layer is NaN in JAX."""
    data = np.array([[0.0, 0.0], [3.0, -1.0]], np.float32)
    assert "A single zero vector in a batch makes" in WHY["`norm` of a zero vector"]

    of_torch, of_jax = _gradients(
        lambda w: (torch.tensor(data) @ w).norm(dim=1).sum(),
        lambda w: jnp.linalg.norm(data @ w, axis=1).sum(),
        [[1.0, 2.0], [0.0, 1.0]],
    )
    assert np.all(np.isfinite(of_torch)) and np.all(np.isnan(of_jax))


def test_the_root_of_a_square_is_nan_where_the_root_is_infinite():
    """The gradient of `sqrt` at 0 is infinite in both; that of `sqrt(x * x)` is 0 times it, NaN."""
    root = _gradients(lambda x: x.sqrt(), jnp.sqrt, 0.0)
    of_square = _gradients(lambda x: (x * x).sqrt(), lambda x: jnp.sqrt(x * x), 0.0)

    assert root == (np.inf, np.inf)
    assert np.all(np.isnan(of_square))
    assert "NaN in both frameworks" in WHY["`sqrt(x * x)` at 0"]
    assert "infinite value" in WHY["`where` around a `log(0)`"]


def test_a_column_minus_a_row_draws_all_predictions_to_the_mean_of_the_targets():
    """Equal predictions of the mean have no gradient; libraries of losses notice the shapes."""
    why, y = WHY["a column minus a row"], jnp.array([1.0, 2.0, -1.0])
    column = jnp.full((3, 1), y.mean())

    def loss(value):
        return ((value - y) ** 2).mean()

    far = 3 * column
    assert "falls in training, but all predictions move to the mean of the targets" in why
    assert loss(far - 0.1 * jax.grad(loss)(far)) < loss(far)
    assert np.allclose(jax.grad(loss)(column), 0) and np.any(jax.grad(loss)(column[:, 0]))
    assert "`optax.squared_error` raises and torch's `mse_loss` warns" in why
    with pytest.raises(ValueError, match="Shape mismatch"):
        optax.squared_error(column, y)
    with pytest.warns(UserWarning, match="target size"):
        torch.nn.functional.mse_loss(torch.ones(3, 1), torch.ones(3))


def test_the_defaults_of_losses_are_those_of_the_card():
    """torch and `jaxgrad.functional` have the same defaults, and optax lacks two arguments."""
    why = WHY["a default that was forgotten"]
    defaults = {
        ("huber_loss", "delta"): 1,
        ("smooth_l1_loss", "beta"): 1,
        ("triplet_margin_loss", "margin"): 1,
        ("hinge_embedding_loss", "margin"): 1,
        ("multi_margin_loss", "margin"): 1,
        ("margin_ranking_loss", "margin"): 0,
        ("cross_entropy", "label_smoothing"): 0,
        ("binary_cross_entropy_with_logits", "pos_weight"): None,
    }
    for (name, argument), default in defaults.items():
        assert f"`{argument}`" in why
        for library in (torch.nn.functional, functional):
            assert _default(getattr(library, name), argument) == default
    assert _default(optax.huber_loss, "delta") == 1
    assert not hasattr(optax, "smooth_l1_loss")
    entropies = [x for x in dir(optax) if x.endswith(("cross_entropy", "_with_integer_labels"))]
    assert len(entropies) > 2
    for name in entropies:
        arguments = inspect.signature(getattr(optax, name)).parameters
        assert not {"pos_weight", "label_smoothing"} & {*arguments}, name


def _default(function, argument):
    return inspect.signature(function).parameters[argument].default
