"""Parameter groups, hand-written updates, changed gradients, and the larger optimizers."""

import itertools
from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import lax

import jaxgrad
from parity_tests.case import case, identity
from parity_tests.cases._net import NET, error_of, forward, mse
from parity_tests.inputs import InputSpec, normal


def loss_of(net, x, y):
    return mse(forward(net, x), y)


def sgd(lr, momentum=None, weight_decay=0.0):
    """Build `torch.optim.SGD` from optax: weight decay is added before the momentum."""
    return optax.chain(optax.add_decayed_weights(weight_decay), optax.sgd(lr, momentum))


def step(tx, grads, state, params) -> tuple[Any, Any]:
    """Take `optimizer.step()` and return the new parameters and state."""
    updates, state = tx.update(grads, state, params)
    return optax.apply_updates(params, updates), state


def first_group(transforms, labels):
    """Use the first group's transformation for all parameters."""
    del labels
    return transforms["l1"]


@case(
    source="S0-08",
    inputs=dict(net=NET, x=normal(3, 10), y=normal(3, 1)),
    idiom=('SGD([{"params": .., "lr": ..}, ..])', "optax.partition(transforms, labels)"),
    control=dict(partition=first_group),
)
def param_groups(net, x, y, *, partition=optax.partition):
    """Each parameter group has its own learning rate, momentum and weight decay."""
    groups = {"l1": sgd(0.01, momentum=0.5, weight_decay=0.1), "l2": sgd(0.1, momentum=0.9)}
    tx = partition(groups, {"l1": "l1", "l2": "l2"})  # the group of each layer
    state = tx.init(net)
    losses, path = [], []
    for _ in range(4):
        loss, grads = jaxgrad.value_and_grad(loss_of)(net, x, y)
        net, state = step(tx, grads, state, net)
        losses.append(loss)
        path.append(net)
    return {"losses": losses, "params": path}


@case(
    source="S0-09",
    inputs=dict(net=NET, x=normal(3, 10), y=normal(3, 1)),
    idiom=("p.sub_(lr * p.grad)  # under no_grad", "tree.map(lambda p, g: p - lr * g, ..)"),
)
def by_hand(net, x, y):
    """Subtracting the gradient times the learning rate by hand equals a step of plain SGD."""
    manual, automatic, tx = net, net, optax.sgd(0.1)
    state, losses = tx.init(automatic), []
    for _ in range(3):
        loss, grads = jaxgrad.value_and_grad(loss_of)(automatic, x, y)
        automatic, state = step(tx, grads, state, automatic)
        losses.append(loss)
        grads = jaxgrad.grad(loss_of)(manual, x, y)
        manual = jax.tree.map(lambda p, g: p - 0.1 * g, manual, grads)

    layers = [(name, leaf) for name in ("l1", "l2") for leaf in ("weight", "bias")]
    return {
        "losses": losses,
        "by_hand": manual,
        "sgd": automatic,
        "same": [jnp.isclose(manual[n][p], automatic[n][p]).all() for n, p in layers],
    }


@case(
    source="S0-10",
    inputs=dict(net=NET, x=normal(3, 10), y=normal(3, 1)),
    idiom=("layer.zero_grad(set_to_none=True)", "optax.conditionally_mask(tx, live)"),
    control=dict(conditionally_mask=identity),
)
def every_other_step(net, x, y, *, conditionally_mask=optax.conditionally_mask):
    """With a zero gradient momentum and weight decay still move a layer; with None nothing does."""

    every = sgd(0.1, momentum=0.9, weight_decay=0.1)
    # For a None gradient torch changes neither the parameter nor its momentum.
    even_steps = conditionally_mask(every, even)
    masked = optax.partition({"l1": even_steps, "l2": every}, {"l1": "l1", "l2": "l2"})

    def train(tx, silenced):
        state, gradients, path = tx.init(net), [], [net]
        for i in range(4):
            grads = jaxgrad.grad(loss_of)(path[-1], x, y)
            if i % 2:
                grads = grads | {"l1": jax.tree.map(jnp.zeros_like, grads["l1"])}
            after, state = step(tx, grads, state, path[-1])
            gradients.append(grads | {"l1": silenced(grads["l1"])} if i % 2 else grads)
            path.append(after)
        return {"grads": gradients, "params": path[1:], "l1_moved": moved(path)}

    return {"zero": train(every, identity), "none": train(masked, nothing)}


def even(step):
    return step % 2 == 0


def nothing(grads):
    """Replace gradients by None."""
    return jax.tree.map(lambda _: None, grads)


def moved(path):
    """Return for each step whether it changed L1's weight."""
    weights = [net["l1"]["weight"] for net in path]
    return [(after != before).any() for before, after in itertools.pairwise(weights)]


def small_and_large(rng):
    """Draw batches whose gradient norms are alternately far below and far above 1."""
    return np.array([0.01, 10, 0.01, 10])[:, None, None] * rng.standard_normal((4, 3, 10))


def never(condition, then, otherwise, x):
    del condition, then
    return otherwise(x)


@case(
    source="S0-11",
    inputs=dict(net=NET, x=InputSpec(small_and_large), y=normal(4, 3, 1)),
    idiom=("if norm > 1: p.grad *= 1 / norm", "lax.cond(norm > 1, scale, keep, grads)"),
    control=dict(cond=never),
)
def scale_under_condition(net, x, y, *, cond=lax.cond):
    """A layer's gradient is scaled if its norm exceeds 1, decided on the device."""
    tx = optax.sgd(0.01, momentum=0.9)

    def train(carry, batch):
        net, state = carry
        loss, grads = jaxgrad.value_and_grad(loss_of)(net, *batch)
        norm = jnp.linalg.norm(grads["l1"]["weight"])
        layer = cond(
            norm > 1,
            lambda layer: jax.tree.map(lambda g: g * (1 / norm), layer),
            lambda layer: layer,
            grads["l1"],
        )
        return step(tx, grads | {"l1": layer}, state, net), (loss, norm > 1)

    (net, _), (losses, scaled) = lax.scan(train, (net, tx.init(net)), (x, y))
    return {"losses": losses, "scaled": scaled, "params": net}


# --- torch's larger optimizers, with the obvious optax choice as the control ----------------------

TRAINING = dict(net=NET, x=normal(3, 10), y=normal(3, 1))


def trained(tx, net, x, y):
    """Return the parameters after each of eight steps of one optimizer."""
    state = tx.init(net)
    path = []
    for _ in range(8):
        net, state = step(tx, jaxgrad.grad(loss_of)(net, x, y), state, net)
        path.append(net)
    return path


@case(
    source="P128",
    inputs=TRAINING,
    idiom=("Adafactor(..)", "optim.adafactor(..)"),
    control=dict(adafactor=optax.adafactor),
)
def adafactor(net, x, y, *, adafactor=jaxgrad.optim.adafactor):
    """Adafactor's steps are relative to the parameter's scale, by at most `lr`."""
    return trained(adafactor(0.1), net, x, y)


@case(
    source="P130",
    inputs=dict(weight=normal(6, 4), x=normal(8, 4), y=normal(8, 6)),
    idiom=("Muon([weight], ..)", "optim.muon(..)"),
    control=dict(muon=optax.contrib.muon),
)
def muon(weight, x, y, *, muon=jaxgrad.optim.muon):
    """Muon orthogonalizes its step in bfloat16 and scales it up for tall matrices."""
    tx = muon(0.1)
    state = tx.init(weight)
    path = []
    for _ in range(3):
        grads = jaxgrad.grad(lambda w: mse(x @ w.T, y))(weight)
        weight, state = step(tx, grads, state, weight)
        path.append(weight)
    return path


@case(
    source="P130",
    inputs=dict(bias=normal(4)),
    idiom=("Muon([bias])", "optim.muon().init(bias)"),
    control=dict(muon=optax.contrib.muon),
    modes=("eager",),
)
def muon_of_a_vector(bias, *, muon=jaxgrad.optim.muon):
    """Muon rejects a vector; `optax.contrib.muon` silently updates it with AdamW."""
    tx = muon(1e-3)
    grad = jaxgrad.grad(lambda b: jnp.sum(b**2))(bias)
    refused = error_of(lambda: tx.update(grad, tx.init(bias), bias))
    return {"grad": grad, "refused": isinstance(refused, ValueError)}


def every_row(lr):
    """Build Adam that ignores which rows were looked up."""
    return optax.with_extra_args_support(optax.adam(lr))


@case(
    source=("P128", "P107"),
    inputs=dict(table=normal(4, 3), y=normal(3, 3)),
    idiom=("Embedding(sparse=True), SparseAdam", "optim.sparse_adam; update(.., rows=tokens)"),
    control=dict(sparse_adam=every_row),
)
def sparse_adam(table, y, *, sparse_adam=jaxgrad.optim.sparse_adam):
    """SparseAdam does not change rows that were not looked up, nor their moments."""
    tx = sparse_adam(0.1)
    state = tx.init(table)
    path = []
    for tokens in ([0, 2, 2], [1, 2, 3], [3, 3, 3]):
        rows = jnp.array(tokens)
        grads = jaxgrad.grad(lambda t, rows=rows: mse(t[rows], y))(table)
        updates, state = tx.update(grads, state, table, rows=rows)
        table = optax.apply_updates(table, updates)
        path.append(table)
    return path


def optax_lbfgs(max_iter, line_search_fn):
    return optax.lbfgs()


@case(
    source="P129",
    inputs=dict(x=normal(8, 4), y=normal(8), w=normal(4)),
    idiom=("LBFGS(..).step(closure)", "optim.lbfgs(..).update(.., value_fn=closure)"),
    control=dict(lbfgs=optax_lbfgs),
)
def lbfgs(x, y, w, *, lbfgs=jaxgrad.optim.lbfgs):
    """One step of L-BFGS runs several iterations, each with its own line search."""

    def closure(w):
        return mse(x @ w, y) + jnp.sum(w**2)

    tx = lbfgs(max_iter=3, line_search_fn="strong_wolfe")
    state, path = tx.init(w), []
    for _ in range(2):
        value, grad = jaxgrad.value_and_grad(closure)(w)
        updates, state = tx.update(grad, state, w, value=value, grad=grad, value_fn=closure)
        w = optax.apply_updates(w, updates)
        path.append(w)
    return path
