"""`jaxgrad.optim.lbfgs` matches `torch.optim.LBFGS`."""

from __future__ import annotations

from collections.abc import Callable
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
import torch

from jaxgrad import optim
from parity_tests.audits import optimizer_runs as runs
from parity_tests.audits.optimizers import OPTIMIZERS
from tests.jaxgrad.optim.shared import FUZZ_EXPENSIVE, AggregatingTests


RECORD = OPTIMIZERS["lbfgs"]
PROBLEMS = [*["quadratic"] * 2, *["network"] * 3, *["rosenbrock"] * 3]  # one per configuration


def lbfgs_problem(kind: str, seed: int) -> tuple[list[np.ndarray], Callable[..., Any]]:
    """Return parameters, and a loss that accepts torch tensors and JAX arrays."""
    rng = np.random.default_rng(seed)
    data, targets = rng.standard_normal((30, 6)), rng.integers(0, 2, 30).astype(float)
    weights = np.exp(rng.standard_normal((6, 3)))
    params = [rng.standard_normal((6, 3)), rng.standard_normal(()), rng.standard_normal((2, 2))]

    def loss(constant: Callable[[Any], Any], w: Any, b: Any, m: Any) -> Any:
        if kind == "rosenbrock":
            v = m.reshape(-1)
            hill = (1 - v[:-1]) ** 2 + 100 * (v[1:] - v[:-1] ** 2) ** 2
            return hill.sum() + (b - 1) ** 2 + (w**2).sum()
        if kind == "network":
            inner = constant(data) @ w + b  # no tanh: torch's and XLA's differ by more than an ULP
            out = (inner / (1 + inner * inner)) @ m.reshape(-1)[:3]
            return ((out - constant(targets)) ** 2).mean() + 0.1 * (w**2).sum() + (m**2).sum()
        return ((w * constant(weights)) ** 2).sum() + ((m - 1) ** 2).sum() + (m.sum() - b) ** 2

    return params, loss


def lbfgs_torch(
    options: Any, params: Any, loss: Any, steps: int, rates: Any = None, noise: Any = None
) -> Any:
    """Return torch's parameters after every step, the leaves and the optimizer.

    `noise` perturbs the parameters and the data by an ULP.
    """
    perturbed = noise or (lambda x: x)
    leaves = [torch.tensor(perturbed(p), requires_grad=True) for p in params]
    optimizer = torch.optim.LBFGS(leaves, **options)

    def closure() -> Any:
        optimizer.zero_grad()
        value = loss(lambda x: torch.tensor(perturbed(x)).to(leaves[0].dtype), *leaves)
        value.backward()
        return value

    path = []
    for i in range(steps):
        if rates is not None:
            optimizer.param_groups[0]["lr"] = rates[i]
        optimizer.step(closure)
        path.append([leaf.detach().numpy().copy() for leaf in leaves])
    return path, leaves, optimizer


def lbfgs_jax(tx: Any, params: Any, loss: Any, steps: int) -> Any:
    """Return JAX's parameters after every step of one compiled scan, and the final state."""
    dtype = params[0].dtype

    def fun(params: Any) -> Any:
        return loss(lambda x: jnp.asarray(x, dtype), *params)

    def body(carry: Any, _: Any) -> Any:
        params, state = carry
        value, grads = jax.value_and_grad(fun)(params)
        carry = tx.step(grads, state, params, value=value, value_fn=fun)
        return carry, carry[0]

    def run(params: Any) -> Any:
        return jax.lax.scan(body, (params, tx.init(params)), None, length=steps)

    (_, state), path = jax.jit(run)([jnp.asarray(p) for p in params])
    return [[np.asarray(x[i]) for x in path] for i in range(steps)], state


def assert_matches_torch(
    kind: str, ours: Any, theirs: Any, seed: int, steps: int, rates: Any
) -> None:
    """Assert agreement within 1e-12, or three times the effect of one ULP of noise in torch."""
    params, loss = lbfgs_problem(kind, seed)
    path, leaves, optimizer = lbfgs_torch(theirs, params, loss, steps, rates)
    run, state = lbfgs_jax(optim.lbfgs(**ours), params, loss, steps)
    rng = np.random.default_rng(0)

    def noise(x: np.ndarray) -> np.ndarray:
        return np.asarray(np.nextafter(x, x + rng.choice([-1, 1], x.shape)))

    others = [lbfgs_torch(theirs, params, loss, steps, rates, noise)[0] for _ in range(8)]
    allowed = 1e-12
    for i, here in enumerate(path):
        allowed = max(
            allowed, *(3 * runs.relative_difference(other[i], here, params) for other in others)
        )
        assert runs.relative_difference(run[i], here, params) <= allowed, f"step {i}"
    if allowed < 1e-6:
        expected = optimizer.state[leaves[0]]
        assert int(state.n_iter) == expected["n_iter"]
        assert int(state.func_evals) == expected["func_evals"]
        assert int(state.num_old) == len(expected["old_dirs"])


class TestLBFGS(AggregatingTests):
    name = "lbfgs"

    def torch_steps(self, leaves: Any, optimizer: Any, grads: Any) -> None:
        def closure() -> Any:
            optimizer.zero_grad()
            value = quartic(leaves)
            value.backward()
            return value

        for _ in grads:
            optimizer.step(closure)

    def jax_step(self, tx: Any, grads: Any, state: Any, params: Any) -> Any:
        return tx.step(None, state, params, value_fn=lambda p: quartic([p["b"], p["a"]]))


def quartic(params: Any) -> Any:
    return sum(((p - 1) ** 2).sum() ** 2 for p in params)


@pytest.mark.sampled(7)
@pytest.mark.parametrize(
    "kind, options", list(zip(PROBLEMS, RECORD.configurations, strict=True)), ids=str
)
def test_configuration(kind, options):
    """Every option gives torch's parameters and evaluation counts over eight steps."""
    assert_matches_torch(kind, options, options, 0, 8, None)


@pytest.mark.parametrize("seed", range(FUZZ_EXPENSIVE))
def test_drawn_options(seed):
    """Random combinations of options with a schedule agree with torch."""
    rng = np.random.default_rng(seed)
    options = RECORD.draw(rng)
    kind = str(rng.choice(["quadratic", "network", "rosenbrock"]))
    rates = (10 ** rng.uniform(-2, 0) * rng.uniform(0.5, 1, 6)).tolist()
    ours = {**options, "lr": jnp.asarray(rates).__getitem__}
    assert_matches_torch(kind, ours, options, seed, 6, rates)


def test_float32():
    """In float32 the error against a float64 run is at most three times torch's."""
    params, loss = lbfgs_problem("network", 1)
    options: dict[str, Any] = dict(line_search_fn="strong_wolfe", max_iter=3)
    low = [p.astype(np.float32) for p in params]
    truth = lbfgs_torch(options, runs.in_float64(low), loss, 3)[0][-1]
    theirs = lbfgs_torch(options, low, loss, 3)[0][-1]
    ours = lbfgs_jax(optim.lbfgs(**options), low, loss, 3)[0][-1]

    own = max(np.abs(a - b).max() for a, b in zip(theirs, truth, strict=True))
    error = max(np.abs(a - b).max() for a, b in zip(ours, truth, strict=True))
    assert error <= 3 * own and all(x.dtype == np.float32 for x in ours), f"{error}, {own}"


def test_update_takes_the_arguments_of_optax():
    """`update` accepts the arguments of `optax.lbfgs` in a chain, and computes a missing value."""
    params, loss = lbfgs_problem("quadratic", 0)
    now = [jnp.asarray(p) for p in params]

    def fun(params: Any) -> Any:
        return loss(jnp.asarray, *params)

    value, grads = jax.value_and_grad(fun)(now)
    alone = optim.lbfgs(line_search_fn="strong_wolfe")
    chained = optax.chain(alone)
    expected, _ = alone.step(None, alone.init(now), now, value_fn=fun)
    updates, _ = chained.update(
        grads, chained.init(now), now, value=value, grad=grads, value_fn=fun
    )

    after: Any = optax.apply_updates(now, updates)
    for a, b in zip(expected, after, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12, atol=1e-14)


def test_a_none_gradient_is_zero():
    """As in torch, a None gradient counts as zero, so that a parameter at rest does not move."""
    params, loss = lbfgs_problem("quadratic", 0)
    now = [jnp.asarray(p) for p in params]

    def fun(params: Any) -> Any:
        return loss(jnp.asarray, *params)

    tx = optim.lbfgs(0.1)
    value, grads = jax.value_and_grad(fun)(now)
    by_none = tx.step([grads[0], None, grads[2]], tx.init(now), now, value=value, value_fn=fun)[0]
    dead = jnp.zeros((), bool)
    by_live, _ = jax.jit(lambda live: tx.step(grads, tx.init(now), now, live=live, value_fn=fun))(
        [True, dead, True]
    )

    assert by_none[1] == now[1] and (by_none[0] != now[0]).all()
    for a, b in zip(by_none, by_live, strict=True):
        np.testing.assert_allclose(a, b, rtol=1e-12)


def test_missing_gradients_are_computed():
    """If all gradients are passed as a single None, they are computed, not treated as zero."""
    tx, start = optim.lbfgs(0.1), jnp.array([1.0, -2.0])
    value, state = jnp.sum(start**2), tx.init(start)
    alone, _ = tx.step(None, state, start, value=value, value_fn=lambda w: jnp.sum(w**2))
    passed, _ = tx.step(2 * start, state, start, value=value, value_fn=lambda w: jnp.sum(w**2))

    assert (alone == passed).all() and (alone != start).all()


def test_state_before_the_first_step():
    """A torch optimizer that has not stepped converts to the initial state."""
    tx, w = optim.lbfgs(), jnp.ones(2)
    theirs = torch.optim.LBFGS([("", torch.ones(2, requires_grad=True))]).state_dict()
    state = optim.state_from_torch(tx, w, theirs)

    assert jax.tree.all(jax.tree.map(lambda a, b: (a == b).all(), state, tx.init(w)))


def test_the_loss_is_required():
    """Without `value_fn`, or with an unknown line search, L-BFGS raises a helpful error."""
    with pytest.raises(ValueError, match="L-BFGS evaluates the loss itself, but value_fn is None"):
        optim.lbfgs().update(jnp.ones(2), optim.lbfgs().init(jnp.ones(2)), jnp.ones(2))
    with pytest.raises(RuntimeError, match="only 'strong_wolfe' is supported"):
        optim.lbfgs(line_search_fn="zoom")
