"""Catalogue rows about whole programs: the remedy matches torch, and the obvious port does not."""

from __future__ import annotations

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
import torch
from jax import lax

import jaxgrad
from jaxgrad import functional
from jaxgrad._core.torch_versions import convention
from jaxgrad.parity.interop import to_jax


F64 = torch.float64


def test_ppo_at_its_bound():
    """P019: PPO's clipped surrogate at a ratio of exactly 1 + eps.

    The minimum is tied: half of the gradient goes to the ratio, and the other half to the clamp,
    which passes it up to torch 2.13 and stops it since 2.14.
    """
    advantage, eps = 2.0, 0.25
    ratio = torch.tensor([1.25, 0.75, 1.0, 2.0], dtype=F64, requires_grad=True)
    bounded = ratio.clamp(1 - eps, 1 + eps)
    torch.minimum(ratio * advantage, bounded * advantage).sum().backward()

    def surrogate(clip):
        def loss(r):
            return jnp.minimum(r * advantage, clip(r, 1 - eps, 1 + eps) * advantage).sum()

        return jax.grad(loss)(jnp.asarray(ratio.detach().numpy()))

    assert ratio.grad is not None
    np.testing.assert_array_equal(surrogate(functional.at(convention()).clamp), ratio.grad)
    assert surrogate(functional.clamp)[0] == 1.0 and surrogate(jnp.clip)[0] == 1.5
    assert surrogate(functional.at("2.13").clamp)[0] == 2.0


def test_score_of_a_sample():
    """P204: torch detaches samples, so the mean's gradient is the score; JAX does not detach."""
    torch.manual_seed(0)
    mean = torch.tensor(0.3, dtype=F64, requires_grad=True)
    normal = torch.distributions.Normal(mean, 2.0)
    sample = normal.sample()
    normal.log_prob(sample).backward()
    noise = float((sample - mean.detach()) / 2.0)

    def score(stop):
        def log_prob(mean):
            x = stop(mean + 2.0 * noise)
            return -((x - mean) ** 2) / (2 * 2.0**2)

        return jax.grad(log_prob)(0.3)

    np.testing.assert_allclose(score(lax.stop_gradient), np.asarray(mean.grad), rtol=1e-12)
    assert score(lambda x: x) == 0.0 != score(lax.stop_gradient)


def test_discrete_samples_pass_no_gradient():
    """P205: torch's discrete samples do not require grad; JAX silently returns zero gradients."""
    p = torch.tensor([0.2, 0.8], requires_grad=True)
    drawn = torch.distributions.Categorical(p).sample()
    assert not drawn.requires_grad
    with pytest.raises(RuntimeError, match="does not require grad"):
        drawn.float().backward()

    def loss(p):
        return jax.random.categorical(jax.random.key(0), jnp.log(p)) * 1.0

    probabilities = jnp.array([0.2, 0.8])
    assert (jax.grad(loss)(probabilities) == 0).all()
    assert jaxgrad.depends_on(loss, probabilities) is False
    assert jaxgrad.grad(loss)(probabilities) is None


def test_squashed_log_prob_far_out():
    """P206: torch's softplus form of tanh's log-determinant has finite gradients far from zero."""
    u = torch.tensor([20.0, 0.5, -30.0], dtype=F64, requires_grad=True)
    squash = torch.distributions.transforms.TanhTransform()
    (-squash.log_abs_det_jacobian(u, torch.tanh(u))).sum().backward()
    assert u.grad is not None

    def remedy(u):
        return -(2.0 * (np.log(2.0) - u - functional.softplus(-2.0 * u))).sum()

    def naive(u):
        return -jnp.log(1 - jnp.tanh(u) ** 2).sum()

    def shifted(u):
        return -jnp.log(1 - jnp.tanh(u) ** 2 + 1e-6).sum()

    at = jnp.asarray(u.detach().numpy())
    np.testing.assert_allclose(jax.grad(remedy)(at), u.grad, rtol=1e-12)
    assert np.isnan(jax.grad(naive)(at)[0]) and jax.grad(shifted)(at)[0] == 0.0


def test_twin_critics_have_their_own_gradients():
    """P209: two critics that share a loss get separate gradients if they are separate arguments."""
    x = np.linspace(-1, 1, 4)
    tensors = [torch.tensor(w, dtype=F64, requires_grad=True) for w in (0.5, -2.0)]
    torch.stack([((w * torch.tensor(x) - 1) ** 2).mean() for w in tensors]).sum().backward()

    def loss(a, b):
        return sum(((w * x - 1) ** 2).mean() for w in (a, b))

    both = jax.grad(loss, (0, 1))(0.5, -2.0)
    np.testing.assert_allclose(both, [np.asarray(w.grad) for w in tensors], rtol=1e-14)
    assert both[0] != both[1]


def test_accumulated_gradients_are_a_sum():
    """P145: torch sums the gradients of k backward calls; `optax.MultiSteps` averages them."""
    w = torch.tensor(1.0, dtype=F64, requires_grad=True)
    total = None
    for x in (1.0, 3.0):
        (w * x).backward()
        step = jax.grad(lambda w, x=x: w * x)(1.0)
        total = step if total is None else jaxgrad.accumulate(total, step)
    assert np.asarray(w.grad) == total == 4.0
    tx = optax.MultiSteps(optax.sgd(1.0), 2)
    params, state = jnp.zeros(()), tx.init(jnp.zeros(()))
    for x in (1.0, 3.0):
        updates, state = tx.update(jnp.asarray(x), state, params)
    assert updates == -2.0


def test_a_closed_over_parameter_has_no_gradient():
    """P138: torch fills `.grad` of every used parameter; JAX differentiates only arguments."""
    used = torch.tensor(2.0, requires_grad=True)
    (torch.tensor(3.0, requires_grad=True) * used).backward()
    assert used.grad == 3.0
    closed = jnp.asarray(2.0)
    assert jax.grad(lambda x: x * closed)(3.0) == 2.0
    assert jax.grad(lambda args: args["x"] * args["used"])({"x": 3.0, "used": 2.0})["used"] == 3.0


def test_clipping_zero_gradients_to_zero():
    """P142: clipping zero gradients with a `max_norm` of 0 gives 0 and not NaN."""
    p = torch.nn.Parameter(torch.zeros(2, dtype=F64))
    p.grad = torch.zeros(2, dtype=F64)
    torch.nn.utils.clip_grad_norm_([p], 0.0)
    clipped, _ = jaxgrad.clip_grad_norm(jnp.zeros(2), 0.0)
    np.testing.assert_array_equal(clipped, p.grad)


def test_norm_of_half_gradients():
    """P143: the norm of float16 gradients whose squares overflow is equal to torch's."""
    grads = [np.full(3, 300.0, np.float16), np.full(2, 200.0, np.float16)]
    params = [torch.nn.Parameter(torch.zeros(g.shape, dtype=torch.float16)) for g in grads]
    for p, g in zip(params, grads, strict=True):
        p.grad = torch.tensor(g)
    theirs = torch.nn.utils.clip_grad_norm_(params, 1.0)
    clipped, ours = jaxgrad.clip_grad_norm([jnp.asarray(g) for g in grads], 1.0)
    assert float(ours) == float(theirs) and ours.dtype == jnp.float16
    for mine, p in zip(clipped, params, strict=True):
        np.testing.assert_array_equal(mine, np.asarray(p.grad))


@pytest.mark.parametrize(
    "array, number", (("bfloat16", "float32"), ("float16", "float64"), ("float32", "float64"))
)
def test_scalar_arrays_do_not_widen(array, number):
    """P200, P201: an array times a 0-d array of a wider dtype keeps its dtype."""
    theirs = torch.ones(2, dtype=getattr(torch, array)) * torch.tensor(
        2.0, dtype=getattr(torch, number)
    )
    x, scale = jnp.ones(2, array), jnp.asarray(2.0, number)
    assert str(theirs.dtype) == f"torch.{array}"
    assert functional.mul(x, scale).dtype == array and (x * scale).dtype == number


def test_float64_is_not_silently_narrowed():
    """P198: JAX silently uses float32 for float64; the comparison raises instead."""
    with jax.enable_x64(False), pytest.raises(ValueError, match="float64 was asked for"):
        to_jax(np.ones(2))
    assert to_jax(np.ones(2)).dtype == jnp.float64


@pytest.mark.sampled(2)
@pytest.mark.parametrize("name, row", (("SGD", "P047"), ("Adam", "P049")))
def test_steps_of_a_complex_parameter(name, row):
    """P047, P049: the conjugate of JAX's complex gradient gives torch's optimizer step."""
    z = torch.tensor([1 + 2j], dtype=torch.complex128, requires_grad=True)
    theirs = getattr(torch.optim, name)([z], lr=0.1)
    (z.abs() ** 2).sum().backward()
    theirs.step()

    at = jnp.array([1 + 2j])
    grads = jax.grad(lambda z: jnp.sum(jnp.abs(z) ** 2))(at)

    def stepped(tx: Any, grads: Any) -> Any:
        return optax.apply_updates(at, tx.update(grads, tx.init(at), at)[0])

    tx = getattr(jaxgrad.optim, name.lower())(lr=0.1)
    wanted = np.asarray(z.detach())
    np.testing.assert_allclose(stepped(tx, jnp.conj(grads)), wanted, rtol=1e-12)
    assert abs(stepped(tx, grads) - wanted)[0] > 0.1, row
    assert name == "SGD" or abs(stepped(optax.adam(0.1), jnp.conj(grads)) - wanted)[0] > 0.05
