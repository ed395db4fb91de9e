"""The optimizers that are more than a rule for one element: Adafactor, Muon, L-BFGS, SparseAdam."""

from __future__ import annotations

import inspect
import os
from collections.abc import Callable, Iterator
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
import pytest
import torch
from torch.optim.lbfgs import _strong_wolfe as torch_search

import jaxgrad
from jaxgrad import optim
from jaxgrad.optim._lbfgs.wolfe import Point, strong_wolfe
from parity_tests.audits import optimizer_runs as optimizers
from parity_tests.audits.optimizer_runs import apart


STEPS = 100
FUZZ = int(os.environ.get("OPTIM_FUZZ", "30")) // 10  # `make fuzz` runs more
CLASSES = {
    "adafactor": torch.optim.Adafactor,
    "muon": torch.optim.Muon,
    "lbfgs": torch.optim.LBFGS,
    "sparse_adam": torch.optim.SparseAdam,
}


def drawn_rate(rng: np.random.Generator, lr: float, steps: int) -> tuple[Any, Any, Any]:
    """A rate as here, as in torch, and torch's schedule: a number, a tensor or a schedule."""
    kind = str(rng.choice(["number", "float32", "float64", "schedule"]))
    if kind == "number":
        return lr, lr, None
    if kind == "schedule":
        rates = lr * rng.uniform(0.5, 1.5, steps)
        return jnp.asarray(rates).__getitem__, lr, rates.tolist().__getitem__
    return jnp.asarray(lr, kind), torch.tensor(lr, dtype=getattr(torch, kind)), None


# --- Adafactor ------------------------------------------------------------------------------------


SHAPES = [(7, 5), (33,), (), (2, 3, 4), (1, 6)]
ADAFACTOR: list[dict[str, Any]] = [
    {},
    dict(beta2_decay=-0.3),
    dict(eps=(1e-2, 1e-1)),
    dict(eps=(0.0, 0.0)),
    dict(d=2.5),
    dict(weight_decay=0.1),
    dict(maximize=True),
    dict(lr=1.0, beta2_decay=0.0, eps=(1e-30, 1e-3), d=1.5, weight_decay=0.01, maximize=True),
]


def adafactor_against_torch(ours: Any, theirs: Any, schedule: Any, seed: int, steps: int) -> None:
    rng = np.random.default_rng(seed)
    dtypes = [str(rng.choice(["float32", "float64"])) for _ in SHAPES * 2]
    params, grads = optimizers.problem(seed, steps, dtypes, SHAPES)
    live: Any = rng.random((steps, len(params))) < 0.8 if seed % 2 else None
    given, wide = optimizers.with_none(grads, live), optimizers.in_float64

    def in_torch(params: Any, grads: Any, **options: Any) -> Any:
        return optimizers.run_torch("adafactor", {**theirs, **options}, params, grads, schedule)

    stock = in_torch(params, given)
    eps1, eps2 = theirs.get("eps", (None, 1e-3))
    if eps1 is None:  # that of the first parameter with a gradient, which changes with `live`
        eps1 = float(np.finfo(dtypes[0]).eps)
    oracle = in_torch(wide(params), wide(given), eps=(eps1, eps2))
    run = optimizers.run_jax(optim.adafactor(**ours), params, grads, live)
    high = [i for i, dtype in enumerate(dtypes) if dtype == "float64"]

    assert apart(*([x[i] for i in high] for x in (run[0], stock[0], params))) < 1e-12
    for i, state in enumerate(stock[1]):
        assert state.keys() == run[1][i].keys()
        for name, value in state.items():
            tight = 1e-12 if dtypes[i] == "float64" else 1e-5
            np.testing.assert_allclose(run[1][i][name], value, rtol=tight, atol=0)
    if live is None:
        other = in_torch(params, given, foreach=True)
        low = [i for i, dtype in enumerate(dtypes) if dtype == "float32"]
        picked = [([r[0][i] for i in low], [{}] * len(low)) for r in (run, stock, other, oracle)]
        assert not optimizers.too_far(*picked)


@pytest.mark.parametrize("options", ADAFACTOR, ids=str)
def test_adafactor(options):
    """Every option, 100 steps, vectors and matrices in both dtypes."""
    options = {"lr": 0.03, **options}
    adafactor_against_torch(options, options, None, seed=2, steps=STEPS)


@pytest.mark.parametrize("seed", range(FUZZ))
def test_adafactor_drawn(seed):
    """Options together, the rate of any kind, gradients that come and go."""
    rng = np.random.default_rng(seed)

    def one(*choices: Any) -> Any:
        return choices[rng.integers(len(choices))]

    options = dict(
        beta2_decay=one(-0.8, -0.1, -1.5, 0.0),
        eps=one((None, 1e-3), (1e-3, 1e-2), (0.0, 0.0), (1e-30, 1e-3)),
        d=one(1.0, 1.5, 3.0),
        weight_decay=one(0.0, 0.1),
        maximize=one(False, True),
    )
    ours, theirs, schedule = drawn_rate(rng, float(10 ** rng.uniform(-3, 0)), 30)
    adafactor_against_torch({**options, "lr": ours}, {**options, "lr": theirs}, schedule, seed, 30)


def test_adafactor_takes_the_epsilon_of_the_first_gradient():
    """Without eps[0] it is that of one dtype for all: of the first that has a gradient."""
    params = [np.ones(2, "float32"), np.ones(2, "float64")]
    small = [np.full(2, 1e-9, "float32"), np.full(2, 1e-9)]
    moved = []
    for given in (small, [None, small[1]]):
        stock = optimizers.run_torch("adafactor", {}, params, [given])
        live = [[g is not None for g in given]]
        ours = optimizers.run_jax(optim.adafactor(), params, [small], live)
        np.testing.assert_allclose(ours[0][1], stock[0][1], rtol=1e-15)
        tx, now = optim.adafactor(), [jnp.asarray(p) for p in params]
        also, _ = tx.step(given, tx.init(now), now)
        np.testing.assert_array_equal(also[1], ours[0][1])
        moved.append(1 - ours[0][1][0])

    assert moved[0] < 0.1 * moved[1], moved


# --- Muon -----------------------------------------------------------------------------------------


MATRICES = [(5, 7), (24, 10), (16, 16), (1, 6), (40, 33)]
MUON: list[dict[str, Any]] = [
    {},
    dict(weight_decay=0.0),
    dict(momentum=0.3),
    dict(nesterov=False),
    dict(ns_coefficients=(2.0, -1.5, 0.5)),
    dict(eps=1e-2),
    dict(ns_steps=3),
    dict(adjust_lr_fn="original"),
    dict(adjust_lr_fn="match_rms_adamw"),
    dict(momentum=0.0, nesterov=False, ns_steps=8, adjust_lr_fn="match_rms_adamw"),
]


def zeropower(grad: Any, coefficients: Any, steps: int, eps: float) -> Any:
    """torch's iteration, but in the dtype of the gradient."""
    a, b, c = coefficients
    tall = grad.size(0) > grad.size(1)
    x = grad.T if tall else grad
    x = x / x.norm().clamp(min=eps)
    for _ in range(steps):
        gram = x @ x.T
        x = a * x + (b * gram + c * gram @ gram) @ x
    return x.T if tall else x


def muon_against_torch(
    monkeypatch: Any, ours: Any, theirs: Any, schedule: Any, seed: int, steps: int
) -> None:
    """No further from the iteration in float64 than three times torch's own bfloat16."""
    dtypes = ["float32", "float64"] * len(MATRICES)
    params, grads = optimizers.problem(seed, steps, dtypes, MATRICES)
    rng = np.random.default_rng(seed)
    live: Any = rng.random((steps, len(params))) < 0.8 if seed % 2 else None
    given, wide = optimizers.with_none(grads, live), optimizers.in_float64
    stock = optimizers.run_torch("muon", theirs, params, given, schedule)
    with monkeypatch.context() as patch:
        patch.setattr("torch.optim._muon._zeropower_via_newtonschulz", zeropower)
        truth = optimizers.run_torch("muon", theirs, wide(params), wide(given), schedule)
    run = optimizers.run_jax(optim.muon(**ours), params, grads, live)

    for i, start in enumerate(params):
        own = np.abs(stock[0][i] - truth[0][i]).max()
        off = np.abs(run[0][i] - truth[0][i]).max()
        moved = np.abs(truth[0][i] - start).max()
        assert off <= max(3 * own, 4 * 2**-8 * moved), f"{MATRICES[i % 5]}: {off} against {own}"
        tight = 1e-12 if dtypes[i] == "float64" else 1e-5
        buffer = stock[1][i]["momentum_buffer"]
        scale = np.abs(buffer).max()
        np.testing.assert_allclose(run[1][i]["momentum_buffer"], buffer, atol=tight * scale, rtol=0)


@pytest.mark.parametrize("options", MUON, ids=str)
def test_muon(options, monkeypatch):
    """Every option, 100 steps, wide and tall, in both dtypes."""
    options = {"lr": 0.03, **options}
    muon_against_torch(monkeypatch, options, options, None, seed=0, steps=STEPS)


@pytest.mark.parametrize("seed", range(FUZZ))
def test_muon_drawn(seed, monkeypatch):
    rng = np.random.default_rng(seed)

    def one(*choices: Any) -> Any:
        return choices[rng.integers(len(choices))]

    options = dict(
        weight_decay=one(0.1, 0.0, 0.5),
        momentum=one(0.95, 0.0, 0.5, 0.99),
        nesterov=one(True, False),
        eps=one(1e-7, 1e-1),
        ns_steps=one(5, 1, 3),
        adjust_lr_fn=one(None, "original", "match_rms_adamw"),
    )
    ours, theirs, schedule = drawn_rate(rng, float(10 ** rng.uniform(-3, -1)), 30)
    options = {**options, "lr": ours}, {**options, "lr": theirs}
    muon_against_torch(monkeypatch, *options, schedule, seed, 30)


def test_muon_takes_matrices_only():
    """torch's error, when it meets the parameters."""
    text = "Muon only supports 2D parameters whereas we found a parameter with size: "
    with pytest.raises(ValueError, match=text):
        torch.optim.Muon([torch.zeros(3, requires_grad=True)])
    with pytest.raises(ValueError, match=text + r"\(3,\). Give the others to another optimizer"):
        optim.muon().init({"b": jnp.zeros(3)})


def test_muon_in_exact_mode():
    """The momentum has torch's bits, whatever the products of matrices are."""
    params, grads = optimizers.problem(0, 20, ["float32", "float64"], MATRICES)
    stock = optimizers.run_torch("muon", {}, params, grads)
    run = optimizers.run_jax(optim.muon(exact=True), params, grads)

    for ours, theirs in zip(run[1], stock[1], strict=True):
        assert optimizers.same(ours["momentum_buffer"], theirs["momentum_buffer"])


def test_muon_for_the_matrices_and_adamw_for_the_rest():
    """How it is used: beside AdamW, by `optax.partition`."""
    params = {"w": jnp.ones((4, 3)), "b": jnp.ones(3)}
    grads = {"w": jnp.arange(12.0).reshape(4, 3), "b": jnp.arange(3.0)}
    muon, adamw = optim.muon(0.1), optim.adamw(0.01)
    tx = optax.partition({"muon": muon, "adamw": adamw}, {"w": "muon", "b": "adamw"})
    updates, _ = jax.jit(tx.update)(grads, tx.init(params), params)
    together: Any = optax.apply_updates(params, updates)

    for name, alone in (("w", muon), ("b", adamw)):
        expected, _ = alone.step(grads[name], alone.init(params[name]), params[name])
        np.testing.assert_allclose(together[name], expected, rtol=1e-14)


# --- SparseAdam -----------------------------------------------------------------------------------


SPARSE: list[dict[str, Any]] = [
    {},
    dict(betas=(0.5, 0.8)),
    dict(eps=1e-2),
    dict(maximize=True),
    dict(betas=(0.0, 0.3), eps=1e-3, maximize=True),
]
TABLES = [(10, 4), (10,), (6, 2, 3)]
DTYPE = ["float32", "float64"]


def sparse_problem(seed: int, steps: int) -> Any:
    """Tables, and for every step the numbers of the rows and the values there, or None."""
    rng = np.random.default_rng(seed)
    params = [rng.standard_normal(shape).astype(d) for d in DTYPE for shape in TABLES]
    steps_of = []
    for _ in range(steps):
        step = []
        for p in params:
            ids = rng.integers(0, len(p), rng.integers(0, 6))  # some of them none, some twice
            values = rng.standard_normal((len(ids), *p.shape[1:])).astype(p.dtype)
            step.append((ids, values) if rng.random() < 0.8 else None)
        steps_of.append(step)
    return params, steps_of


def torch_sparse(options: Any, params: Any, steps: Any, schedule: Any = None) -> Any:
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
    """The gradients as JAX has them, and which rows they are of, as bools."""
    grads, rows = [], []
    for at, p in zip(step, params, strict=True):
        grad, mask = np.zeros_like(p), np.zeros(len(p), bool)
        for i, value in zip(*(at or ([], [])), strict=True):
            grad[i] += value
            mask[i] = True
        grads.append(grad)
        rows.append(mask)
    return grads, rows


def sparse_against_torch(ours: Any, theirs: Any, schedule: Any, seed: int, steps: int) -> None:
    params, given = sparse_problem(seed, steps)
    with optimizers.ieee_sqrt():
        leaves, optimizer = torch_sparse(theirs, params, given, schedule)
    for exact in (True, False):
        tx = optim.sparse_adam(**ours, exact=exact)
        now = [jnp.asarray(p) for p in params]
        state: Any = tx.init(now)
        move = jax.jit(tx.step)
        for step in given:
            grads, rows = dense(step, params)
            live = [jnp.asarray(at is not None) for at in step]
            now, state = move(grads, state, now, rows=rows, live=live)
        run = [np.asarray(x) for x in now]
        if not exact:
            high = slice(len(TABLES), None)
            expected = [x.detach().numpy() for x in leaves]
            assert apart(run[high], expected[high], params[high]) < 1e-12
            continue
        for i, leaf in enumerate(leaves):
            torch_state = optimizer.state[leaf]
            assert optimizers.same(run[i], leaf.detach().numpy()), i
            assert int(state.step[i]) == torch_state["step"]
            for name in ("exp_avg", "exp_avg_sq"):
                value = np.asarray(getattr(state, name)[i])
                assert optimizers.same(value, torch_state[name].numpy()), (i, name)


@pytest.mark.parametrize("options", SPARSE, ids=str)
def test_sparse_adam(options):
    """Every bit in exact mode; rows come and go, twice in one step, or none of them at all."""
    options = {"lr": 0.03, **options}
    sparse_against_torch(options, options, None, seed=0, steps=STEPS)


@pytest.mark.parametrize("seed", range(FUZZ))
def test_sparse_adam_drawn(seed):
    rng = np.random.default_rng(seed)
    betas = tuple(map(float, rng.uniform(0, 0.999, 2)))
    options = dict(betas=betas, eps=float(10 ** rng.uniform(-10, -2)), maximize=bool(seed % 2))
    ours, theirs, schedule = drawn_rate(rng, float(10 ** rng.uniform(-3, -1)), 30)
    options = {**options, "lr": ours}, {**options, "lr": theirs}
    sparse_against_torch(*options, schedule, seed, 30)


def test_rows_said_in_three_ways():
    """Numbers of rows, bools, or the rows that are not zero; a zero that was looked up counts."""
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
    """No rows to find: it stays, and so does its state."""
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
    """A prefix of the parameters, None where the gradient is to say; also through optax."""
    params = {"emb": {"a": jnp.ones((3, 2)), "b": jnp.ones((3, 1))}, "bias": jnp.ones(2)}
    grads = jax.tree.map(jnp.zeros_like, params)
    grads["bias"] = jnp.array([1.0, 0.0])
    tx = optax.chain(optim.sparse_adam(0.1))
    rows = {"emb": jnp.array([1]), "bias": None}
    updates: Any = tx.update(grads, tx.init(params), params, rows=rows)[0]

    np.testing.assert_allclose(updates["bias"], [-0.1, 0.0], rtol=1e-6)
    with pytest.raises(ValueError, match=r"the rows of \['emb'\]\['a'\] have dtype bool and sh"):
        tx.update(grads, tx.init(params), params, rows={"emb": jnp.ones(2, bool), "bias": None})


# --- L-BFGS ---------------------------------------------------------------------------------------


def lbfgs_problem(kind: str, seed: int) -> tuple[list[np.ndarray], Callable[..., Any]]:
    """Parameters, and a loss that is the same function of torch's tensors and of JAX's arrays."""
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
            inner = constant(data) @ w + b  # no tanh: theirs differ by more than an ULP
            out = (inner / (1 + inner * inner)) @ m.reshape(-1)[:3]
            return ((out - constant(targets)) ** 2).mean() + 0.1 * (w**2).sum() + (m**2).sum()
        return ((w * constant(weights)) ** 2).sum() + ((m - 1) ** 2).sum() + (m.sum() - b) ** 2

    return params, loss


def lbfgs_torch(
    options: Any, params: Any, loss: Any, steps: int, rates: Any = None, noise: Any = None
) -> Any:
    """The parameters after every step, and the optimizer; `noise` moves numbers by an ULP."""
    moved = noise or (lambda x: x)
    leaves = [torch.tensor(moved(p), requires_grad=True) for p in params]
    optimizer = torch.optim.LBFGS(leaves, **options)

    def closure() -> Any:
        optimizer.zero_grad()
        value = loss(lambda x: torch.tensor(moved(x)).to(leaves[0].dtype), *leaves)
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
    """The same in one compiled scan, and the state."""
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


def lbfgs_against_torch(
    kind: str, ours: Any, theirs: Any, seed: int, steps: int, rates: Any
) -> None:
    """As close as rounding lets two runs be: 1e-12, or three times what torch makes of an ULP."""
    params, loss = lbfgs_problem(kind, seed)
    path, leaves, optimizer = lbfgs_torch(theirs, params, loss, steps, rates)
    run, state = lbfgs_jax(optim.lbfgs(**ours), params, loss, steps)
    rng = np.random.default_rng(0)

    def noise(x: np.ndarray) -> np.ndarray:
        return np.asarray(np.nextafter(x, x + rng.choice([-1, 1], x.shape)))

    others = [lbfgs_torch(theirs, params, loss, steps, rates, noise)[0] for _ in range(8)]
    allowed = 1e-12
    for i, here in enumerate(path):
        allowed = max(allowed, *(3 * apart(other[i], here, params) for other in others))
        assert apart(run[i], here, params) <= allowed, f"step {i}"
    if allowed < 1e-6:
        found = optimizer.state[leaves[0]]
        assert int(state.n_iter) == found["n_iter"]
        assert int(state.func_evals) == found["func_evals"]
        assert int(state.num_old) == len(found["old_dirs"])


LBFGS: list[tuple[str, dict[str, Any]]] = [
    ("quadratic", dict(lr=0.1)),
    ("quadratic", dict(line_search_fn="strong_wolfe")),
    ("network", dict(lr=0.3, max_iter=7, history_size=3)),
    ("network", dict(line_search_fn="strong_wolfe", max_iter=4, history_size=5)),
    ("network", dict(line_search_fn="strong_wolfe", max_eval=6)),
    ("rosenbrock", dict(line_search_fn="strong_wolfe")),
    ("rosenbrock", dict(line_search_fn="strong_wolfe", lr=0.01, max_eval=2, max_iter=5)),
    ("rosenbrock", dict(lr=1e-3, tolerance_grad=1.0, tolerance_change=1e-4, max_iter=1)),
]


@pytest.mark.parametrize("kind, options", LBFGS, ids=str)
def test_lbfgs(kind, options):
    """Every option: where each of eight steps ends, and how often it evaluated the loss."""
    lbfgs_against_torch(kind, options, options, 0, 8, None)


@pytest.mark.parametrize("seed", range(FUZZ))
def test_lbfgs_drawn(seed):
    """Options together, and a schedule."""
    rng = np.random.default_rng(seed)
    options: dict[str, Any] = dict(
        max_iter=int(rng.integers(1, 12)),
        history_size=int(rng.integers(1, 8)),
        tolerance_grad=float(10 ** rng.uniform(-9, -3)),
        tolerance_change=float(10 ** rng.uniform(-12, -4)),
        max_eval=int(rng.integers(1, 20)) if rng.random() < 0.5 else None,
        line_search_fn=[None, "strong_wolfe"][rng.integers(2)],
    )
    kind = str(rng.choice(["quadratic", "network", "rosenbrock"]))
    rates = (10 ** rng.uniform(-2, 0) * rng.uniform(0.5, 1, 6)).tolist()
    ours = {**options, "lr": jnp.asarray(rates).__getitem__}
    lbfgs_against_torch(kind, ours, options, seed, 6, rates)


def test_lbfgs_in_float32():
    """No further from the float64 run than three times torch's own float32."""
    params, loss = lbfgs_problem("network", 1)
    options: dict[str, Any] = dict(line_search_fn="strong_wolfe", max_iter=3)
    low = [p.astype(np.float32) for p in params]
    truth = lbfgs_torch(options, optimizers.in_float64(low), loss, 3)[0][-1]
    theirs = lbfgs_torch(options, low, loss, 3)[0][-1]
    ours = lbfgs_jax(optim.lbfgs(**options), low, loss, 3)[0][-1]

    own = max(np.abs(a - b).max() for a, b in zip(theirs, truth, strict=True))
    off = max(np.abs(a - b).max() for a, b in zip(ours, truth, strict=True))
    assert off <= 3 * own and all(x.dtype == np.float32 for x in ours), f"{off} against {own}"


def search_drawn(rng: np.random.Generator) -> Any:
    """A function of a family, a point, a factor of the slope, a step length, most iterations."""
    kind = str(rng.choice(["hills", "period", "kink", "hole"], p=[0.4, 0.2, 0.2, 0.2]))
    ripple, kink = rng.choice([0.0, 0.3, 2.0], 2)
    bowl, slope, place, wave = *rng.uniform(0.05, 1, 2), rng.uniform(-2, 2), rng.uniform(1, 9)
    hole, width, x = 0.0, 0.0, rng.standard_normal(2)
    factor, t = rng.choice([0.1, 1.0, 30.0]), 10 ** rng.uniform(-1, 1)
    if kind == "period":  # as high as at the start, but for a faint slope
        bowl, kink, ripple, factor, x[:] = 0.0, 0.0, 1.0, 1.0, x[0]
        slope = wave * rng.choice([-1, 1]) * 10 ** rng.uniform(-7, -4)
        t = 2 * np.pi / wave / abs(slope + wave * np.cos(wave * x[0]))
    elif kind == "kink":  # between slopes as steep as at the start
        bowl, slope, kink, ripple, factor, x[:] = 0.0, rng.uniform(-0.05, 0.05), 2.0, 0.0, 1.0, x[0]
        t = abs(x[0] - place) / 2 * rng.uniform(1.2, 4)
    elif kind == "hole":  # where there is no number
        hole, width, ripple = 0.1, rng.uniform(0.05, 0.5), 0.0
    most = rng.choice([1, 2, 3, 5] if kind in {"period", "hole"} else [1, 2, 3, 5, 25, 80])
    return (bowl, slope, kink, place, ripple, wave, hole, width), x, factor, t, most


def test_line_search():
    """Along hills, ripples, kinks and holes, however many iterations: torch's point and count."""

    def fun(at: Any, x: Any) -> Any:
        lib: Any = torch if isinstance(x, torch.Tensor) else jnp
        bowl, slope, kink, place, ripple, wave, hole, width = at
        far = lib.abs(x - place)
        edges = kink * far + hole * lib.sqrt(far * far - width * width)
        return (bowl * x * x + slope * x + ripple * lib.sin(wave * x) + edges).sum()

    def ours(at: Any, x: Any, factor: Any, t: Any, most: Any) -> Any:
        f, g = jax.value_and_grad(fun, 1)(at, x)
        d = -g * factor
        start = Point(0.0 * t, f, g, g @ d)
        found, evals = strong_wolfe(
            lambda t: jax.value_and_grad(fun, 1)(at, x + t * d), start, t, d, most
        )
        return found.t, found.f, evals

    rng = np.random.default_rng(2)
    drawn = [search_drawn(rng) for _ in range(1500)]
    columns = jax.tree.map(lambda *x: np.stack(x), *drawn)
    for (at, x, factor, t, most), found in zip(
        drawn, zip(*jax.jit(jax.vmap(ours))(*columns), strict=True), strict=True
    ):

        def value(x: Any, t: Any, d: Any, at: Any = at) -> Any:
            moved = (x + t * d).requires_grad_()
            f = fun(at, moved)
            return f.item(), torch.autograd.grad(f, moved)[0]

        start = torch.tensor(x)
        f, g = value(start, 0.0, torch.zeros(2, dtype=torch.float64))
        d = -g * float(factor)
        loss, _, length, evals = torch_search(value, start, t, d, f, g, g.dot(d), max_ls=most)

        np.testing.assert_allclose(found, (length, loss, evals), rtol=1e-6, atol=1e-9)


def test_lbfgs_as_optax():
    """`update` takes what `optax.lbfgs` takes, also in a chain; without a value it computes it."""
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


def test_lbfgs_without_a_gradient():
    """None makes zeros, as in torch: from rest the parameter stays where it is."""
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


@pytest.mark.parametrize("curvature, remembered", [(3e-4, 0), (6e-4, 1)])
def test_a_pair_of_little_curvature_is_left_out(curvature, remembered):
    """From `y . s = 1e-10` on it is in the history, as in torch."""
    options: dict[str, Any] = dict(lr=1.0, max_iter=3, tolerance_grad=0, tolerance_change=0)
    w = torch.ones(1, dtype=torch.float64, requires_grad=True)
    theirs = torch.optim.LBFGS([w], **options)

    def closure() -> Any:
        theirs.zero_grad()
        loss = (curvature / 2 * w * w).sum()
        loss.backward()
        return loss

    theirs.step(closure)
    tx, start = optim.lbfgs(**options), jnp.ones(1)
    _, state = tx.step(
        None, tx.init(start), start, value_fn=lambda w: jnp.sum(curvature / 2 * w * w)
    )

    assert state.num_old == len(theirs.state[w]["old_dirs"]) == remembered


def test_lbfgs_with_a_value_and_no_gradients():
    """It computes them, and does not take them for zero."""
    tx, start = optim.lbfgs(0.1), jnp.array([1.0, -2.0])
    value, state = jnp.sum(start**2), tx.init(start)
    alone, _ = tx.step(None, state, start, value=value, value_fn=lambda w: jnp.sum(w**2))
    given, _ = tx.step(2 * start, state, start, value=value, value_fn=lambda w: jnp.sum(w**2))

    assert (alone == given).all() and (alone != start).all()


def test_lbfgs_before_its_first_step():
    """torch has no state yet, and here it is the first one."""
    tx, w = optim.lbfgs(), jnp.ones(2)
    theirs = torch.optim.LBFGS([("", torch.ones(2, requires_grad=True))]).state_dict()
    found = optim.state_from_torch(tx, w, theirs)

    assert jax.tree.all(jax.tree.map(lambda a, b: (a == b).all(), found, tx.init(w)))


def test_lbfgs_needs_the_loss():
    with pytest.raises(ValueError, match="L-BFGS evaluates the loss itself, but value_fn is None"):
        optim.lbfgs().update(jnp.ones(2), optim.lbfgs().init(jnp.ones(2)), jnp.ones(2))
    with pytest.raises(RuntimeError, match="only 'strong_wolfe' is supported"):
        optim.lbfgs(line_search_fn="zoom")


# --- all of them ----------------------------------------------------------------------------------


BAD: list[tuple[str, dict[str, Any]]] = [
    ("adafactor", dict(lr=-1.0)),
    ("adafactor", dict(beta2_decay=0.5)),
    ("adafactor", dict(eps=(-1.0, 1e-3))),
    ("adafactor", dict(eps=(None, -1e-3))),
    ("adafactor", dict(d=0.5)),
    ("adafactor", dict(weight_decay=-0.1)),
    ("muon", dict(lr=-1.0)),
    ("muon", dict(momentum=-0.1)),
    ("muon", dict(weight_decay=-0.1)),
    ("muon", dict(adjust_lr_fn="mine")),
    ("sparse_adam", dict(lr=0.0)),
    ("sparse_adam", dict(eps=0.0)),
    ("sparse_adam", dict(betas=(1.0, 0.9))),
    ("sparse_adam", dict(betas=(0.9, -0.1))),
    ("lbfgs", dict(lr=-1.0)),
]


@pytest.mark.parametrize("name, options", BAD, ids=str)
def test_torchs_errors(name, options):
    """The same exception, which starts with torch's words."""
    with pytest.raises((ValueError, RuntimeError)) as theirs:
        CLASSES[name]([torch.zeros(2, 2, requires_grad=True)], **options)
    with pytest.raises(type(theirs.value)) as ours:
        getattr(optim, name)(**options)

    assert str(ours.value).startswith(str(theirs.value)), f"{ours.value} against {theirs.value}"


ONE_STEP = [
    ("muon", dict(ns_steps=100), "float64"),
    ("muon", dict(ns_coefficients=(1.0, 2.0)), "float64"),
    ("muon", {}, "complex128"),
    ("adafactor", {}, "complex128"),
]


@pytest.mark.parametrize("name, options, dtype", ONE_STEP, ids=str)
def test_torchs_errors_at_the_first_step(name, options, dtype):
    leaf = torch.zeros(2, 2, dtype=getattr(torch, dtype), requires_grad=True)
    leaf.grad = torch.ones_like(leaf)
    with pytest.raises((ValueError, RuntimeError)) as theirs:
        CLASSES[name]([leaf], **options).step()
    with pytest.raises(type(theirs.value)) as ours:
        getattr(optim, name)(**options).init(jnp.zeros((2, 2), dtype))

    assert str(ours.value).startswith(str(theirs.value)), f"{ours.value} against {theirs.value}"


@pytest.mark.parametrize("name", CLASSES)
def test_torchs_arguments(name):
    """The same names, order and defaults, and `exact`."""
    theirs = dict(inspect.signature(CLASSES[name]).parameters)
    ours = dict(inspect.signature(getattr(optim, name)).parameters)
    del theirs["params"], ours["exact"]

    def without_types(parameters: Any) -> Iterator[Any]:
        return ((k, p.default, p.kind) for k, p in parameters.items())

    assert list(without_types(ours)) == list(without_types(theirs))


@pytest.mark.parametrize("name", CLASSES)
def test_only_a_schedule_counts_the_calls(name):
    make, w = getattr(optim, name), jnp.ones((2, 2))

    assert make(0.1).init(w).count is None and make(lambda step: 0.1).init(w).count == 0


@pytest.mark.parametrize("name", ["adafactor", "muon"])
def test_none_leaves_all_alone(name):
    """A None gradient: the parameter, its state and its count stay; it does not decay."""
    tx = getattr(optim, name)(lr=0.1, weight_decay=0.1)
    params = {"u": jnp.ones((2, 3)), "w": jnp.ones((2, 3))}
    grads = {"u": None, "w": jnp.ones((2, 3))}
    start = tx.init(params)
    out, state = tx.step(grads, start, params)
    live = {"u": jnp.zeros((), bool), "w": True}
    also, _ = jax.jit(lambda live: tx.step(params, start, params, live=live))(live)

    assert (out["u"] == 1).all() and (also["u"] == 1).all() and (out["w"] != 1).all()
    for field in state[:-1]:
        for leaf in jax.tree.leaves(field["u"]):
            assert not leaf.any()


def test_with_value_and_grad():
    """A parameter that the loss does not use has no gradient, and does not decay."""
    tx = optim.adafactor(lr=0.1, weight_decay=0.1)
    params = {"u": jnp.ones(2), "w": jnp.ones((2, 3))}
    _, grads = jaxgrad.value_and_grad(lambda p: jnp.sum(p["w"] ** 2))(params)
    out, state = tx.step(grads, tx.init(params), params)

    assert (out["u"] == 1).all() and state.step["u"] == 0 and state.step["w"] == 1


@pytest.mark.parametrize("name", CLASSES)
def test_training_goes_on_in_the_other_framework(name):
    """Three steps in torch, three here, three in torch: where torch alone arrives."""
    rng = np.random.default_rng(0)
    params = [rng.standard_normal((4, 3)), rng.standard_normal((2, 5))]
    # a transposed matrix has another `lr` in Muon's own way
    few = dict(lbfgs=dict(max_iter=3, history_size=4), muon=dict(adjust_lr_fn="match_rms_adamw"))
    options = few.get(name, {})
    options = dict(lr=0.1, **options)
    draws = [[rng.standard_normal(p.shape) for p in params] for _ in range(9)]

    def fun(params: Any) -> Any:
        return sum(((p - 1) ** 2).sum() ** 2 for p in params)

    def torch_run(leaves: Any, optimizer: Any, draws: Any) -> None:
        def closure() -> Any:
            optimizer.zero_grad()
            value: Any = fun(leaves)
            value.backward()
            return value

        for step in draws:
            for leaf, grad in zip(leaves, step, strict=True):
                leaf.grad = torch.tensor(grad)
                leaf.grad = leaf.grad.to_sparse(1) if name == "sparse_adam" else leaf.grad
            optimizer.step(*[closure] if name == "lbfgs" else [])

    def start() -> Any:
        leaves = [torch.tensor(p, requires_grad=True) for p in params]
        return leaves, CLASSES[name](list(zip(("b", "a"), leaves, strict=True)), **options)

    alone, optimizer = start()
    torch_run(alone, optimizer, draws)

    leaves, optimizer = start()
    torch_run(leaves, optimizer, draws[:3])
    b, a = (jnp.asarray(leaf.detach().numpy()) for leaf in leaves)
    ours, names = (
        {"a": a, "b": b.T},
        {"a": "a", "b": ("b", (1, 0))},
    )  # another order, another layout
    tx = getattr(optim, name)(**options)
    state = optim.state_from_torch(tx, ours, optimizer.state_dict(), names)
    assert jax.tree.structure(state) == jax.tree.structure(tx.init(ours))
    for step in draws[3:6]:
        grads = {"a": jnp.asarray(step[1]), "b": jnp.asarray(step[0]).T}
        if name == "lbfgs":
            ours, state = tx.step(None, state, ours, value_fn=lambda p: fun([p["b"], p["a"]]))
        elif name == "sparse_adam":
            mask = {"a": jnp.ones(2, bool), "b": jnp.ones((3, 4), bool)}
            ours, state = tx.step(grads, state, ours, rows=mask)
        else:
            ours, state = tx.step(grads, state, ours)
    optimizer.load_state_dict(optim.state_to_torch(state, ours, optimizer.state_dict(), names))
    with torch.no_grad():
        leaves[0].copy_(torch.tensor(np.asarray(ours["b"].T)))
        leaves[1].copy_(torch.tensor(np.asarray(ours["a"])))
    torch_run(leaves, optimizer, draws[6:])

    close = 1e-2 if name == "muon" else 1e-12  # bfloat16
    for leaf, expected, p in zip(leaves, alone, params, strict=True):
        assert apart([leaf.detach().numpy()], [expected.detach().numpy()], [p]) < close
