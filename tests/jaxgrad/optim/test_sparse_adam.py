"""`jaxgrad.optim.sparse_adam` matches `torch.optim.SparseAdam` on sparse gradients."""

from __future__ import annotations

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
from tests.jaxgrad.optim.shared import FUZZ_EXPENSIVE, AggregatingTests, draw_learning_rate


STEPS = 100
RECORD = OPTIMIZERS["sparse_adam"]
TABLES = [(10, 4), (10,), (6, 2, 3)]
DTYPE = ["float32", "float64"]


def sparse_problem(seed: int, steps: int) -> Any:
    """Draw tables, and for every step the row indices and values of each gradient, or None."""
    rng = np.random.default_rng(seed)
    params = [rng.standard_normal(shape).astype(d) for d in DTYPE for shape in TABLES]
    steps_of = []
    for _ in range(steps):
        step = []
        for p in params:
            ids = rng.integers(0, len(p), rng.integers(0, 6))  # possibly none, and with repetitions
            values = rng.standard_normal((len(ids), *p.shape[1:])).astype(p.dtype)
            step.append((ids, values) if rng.random() < 0.8 else None)
        steps_of.append(step)
    return params, steps_of


def torch_sparse(options: Any, params: Any, steps: Any, schedule: Any = None) -> Any:
    """Take all steps with torch's SparseAdam and return the leaves and the optimizer."""
    leaves = [torch.tensor(p, requires_grad=True) for p in params]
    optimizer = torch.optim.SparseAdam(leaves, **options)
    for i, step in enumerate(steps):
        if schedule is not None:
            optimizer.param_groups[0]["lr"] = schedule(i)
        for leaf, at in zip(leaves, step, strict=True):
            leaf.grad = None
            if at is not None:
                ids, values = (torch.tensor(x) for x in at)
                leaf.grad = torch.sparse_coo_tensor(
                    ids[None], values, leaf.shape, check_invariants=True
                )
        optimizer.step()
    return leaves, optimizer


def dense(step: Any, params: Any) -> Any:
    """Return the dense gradients, each with a boolean mask of the rows that have a gradient."""
    grads, rows = [], []
    for at, p in zip(step, params, strict=True):
        grad, mask = np.zeros_like(p), np.zeros(len(p), bool)
        for i, value in zip(*(at or ([], [])), strict=True):
            grad[i] += value
            mask[i] = True
        grads.append(grad)
        rows.append(mask)
    return grads, rows


def assert_matches_torch(ours: Any, theirs: Any, schedule: Any, seed: int, steps: int) -> None:
    """Assert that exact mode is bit-identical to torch and fast mode differs only by rounding."""
    params, sparse_grads = sparse_problem(seed, steps)
    with runs.ieee_sqrt():
        leaves, optimizer = torch_sparse(theirs, params, sparse_grads, schedule)
    for exact in (True, False):
        tx = optim.sparse_adam(**ours, exact=exact)
        now = [jnp.asarray(p) for p in params]
        state: Any = tx.init(now)
        step_fn = jax.jit(tx.step)
        for step in sparse_grads:
            grads, rows = dense(step, params)
            live = [jnp.asarray(at is not None) for at in step]
            now, state = step_fn(grads, state, now, rows=rows, live=live)
        run = [np.asarray(x) for x in now]
        if not exact:
            high = slice(len(TABLES), None)
            expected = [x.detach().numpy() for x in leaves]
            assert runs.relative_difference(run[high], expected[high], params[high]) < 1e-12
            continue
        for i, leaf in enumerate(leaves):
            torch_state = optimizer.state[leaf]
            assert runs.same_bits(run[i], leaf.detach().numpy()), i
            assert int(state.step[i]) == torch_state["step"]
            for name in ("exp_avg", "exp_avg_sq"):
                value = np.asarray(getattr(state, name)[i])
                assert runs.same_bits(value, torch_state[name].numpy()), (i, name)


class TestSparseAdam(AggregatingTests):
    name = "sparse_adam"

    def torch_steps(self, leaves: Any, optimizer: Any, grads: Any) -> None:
        for step in grads:
            for leaf, grad in zip(leaves, step, strict=True):
                leaf.grad = torch.tensor(grad).to_sparse(1)
            optimizer.step()

    def jax_step(self, tx: Any, grads: Any, state: Any, params: Any) -> Any:
        rows = {"a": jnp.ones(2, bool), "b": jnp.ones((3, 4), bool)}
        return tx.step(grads, state, params, rows=rows)


@pytest.mark.sampled(3)
@pytest.mark.parametrize("options", RECORD.configurations, ids=str)
def test_configuration(options):
    """Exact mode is bit-identical to torch while rows come and go, repeat, or are all absent."""
    options = {"lr": 0.03, **options}
    assert_matches_torch(options, options, None, seed=0, steps=STEPS)


@pytest.mark.parametrize("seed", range(FUZZ_EXPENSIVE))
def test_drawn_options(seed):
    """Random options and learning rates are bit-identical to torch in exact mode."""
    rng = np.random.default_rng(seed)
    options = RECORD.draw(rng)
    ours, theirs, schedule = draw_learning_rate(rng, float(10 ** rng.uniform(-3, -1)), 30)
    options = {**options, "lr": ours}, {**options, "lr": theirs}
    assert_matches_torch(*options, schedule, seed, 30)


def test_three_forms_of_rows():
    """Row indices and a mask agree; without `rows`, a row whose gradient is zero is not updated."""
    table, tokens = jnp.ones((4, 2)), jnp.array([[3, 0], [3, 3]])
    first = jnp.zeros((4, 2)).at[jnp.array([0, 3])].set(1.0)
    tx = optim.sparse_adam(0.1)
    mask = jnp.array([True, False, False, True])
    table, state = tx.step(first, tx.init(table), table)
    again = first.at[0].set(0.0)
    runs = [tx.step(again, state, table, rows=rows)[0] for rows in (tokens, mask, None)]

    np.testing.assert_array_equal(runs[0], runs[1])
    assert (runs[0][0] != table[0]).all() and (runs[2][0] == table[0]).all()
    np.testing.assert_array_equal(runs[0][1:], runs[2][1:])


def test_a_table_without_a_gradient():
    """A table whose gradient is None keeps its values and its state."""
    params = {"looked up": jnp.ones((3, 2)), "not": jnp.ones((3, 2))}
    tx = optim.sparse_adam(0.1)
    first: Any = tx.init(params)
    now: Any
    now, state = tx.step({"looked up": jnp.ones((3, 2)), "not": None}, first, params)

    assert (now["looked up"] != 1).all()
    np.testing.assert_array_equal(now["not"], params["not"])
    for new, old in zip(state[:3], first[:3], strict=True):
        np.testing.assert_array_equal(new["not"], old["not"])


def test_rows_of_a_tree():
    """`rows` may be a prefix of the tree, with None to infer rows, even in an optax chain."""
    params = {"emb": {"a": jnp.ones((3, 2)), "b": jnp.ones((3, 1))}, "bias": jnp.ones(2)}
    grads = jax.tree.map(jnp.zeros_like, params)
    grads["bias"] = jnp.array([1.0, 0.0])
    tx = optax.chain(optim.sparse_adam(0.1))
    rows = {"emb": jnp.array([1]), "bias": None}
    updates: Any = tx.update(grads, tx.init(params), params, rows=rows)[0]

    np.testing.assert_allclose(updates["bias"], [-0.1, 0.0], rtol=1e-6)
    with pytest.raises(ValueError, match="the rows of 'emb/a' have dtype bool and sh"):
        tx.update(grads, tx.init(params), params, rows={"emb": jnp.ones(2, bool), "bias": None})
