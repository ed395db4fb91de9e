"""Training part of a network: by what is differentiated, by what is updated, and by stopped
paths.
"""

from typing import Any

import jax
import jax.numpy as jnp
import optax
from jax import lax

import jaxgrad
from parity_tests.case import case, identity
from parity_tests.cases._net import NET, forward, linear, mse
from parity_tests.inputs import linear as draw_linear
from parity_tests.inputs import normal


PATHS = {"trunk": draw_linear(10, 5), "a": draw_linear(5, 1), "b": draw_linear(5, 1)}


def objective(net: Any, x: jax.Array, y: jax.Array) -> jax.Array:
    return mse(forward(net, x), y)


def head(tree: Any) -> Any:
    """Return only L2's part of a tree."""
    return {"l2": tree["l2"]}


def both_layers(tree: Any) -> Any:
    return tree


def zero_grad(grads: Any) -> Any:
    return jax.tree.map(lambda _: None, grads)


@case(
    source="S0-07",
    inputs=dict(net=NET, x=normal(3, 10), y=normal(3, 1)),
    idiom=("SGD(model.l2.parameters(), lr)", 'sgd.update(grads["l2"], state)'),
    control=dict(given=both_layers),
    picture=True,
)
def optimizer_subset(net, x, y, *, given=head):
    """An optimizer given only L2's parameters neither updates L1 nor clears L1's gradient, which
    is still computed and grows every step."""
    sgd, grads = optax.sgd(0.1), jax.tree.map(lambda _: None, net)
    state, losses, gradients = sgd.init(given(net)), [], []
    for _ in range(3):
        loss, new = jaxgrad.value_and_grad(objective)(net, x, y)
        grads = jaxgrad.accumulate(grads | zero_grad(given(grads)), new)
        updates, state = sgd.update(given(grads), state)
        net = net | optax.apply_updates(given(net), updates)
        losses.append(loss)
        gradients.append(grads)
    return {
        "losses": losses,
        "grads": gradients,
        "grads_after_zero_grad": grads | zero_grad(given(grads)),
        "params": net,
    }


def everything(name: str, leaf: Any) -> bool:
    del name, leaf
    return True


def only_l2(name: str, leaf: Any) -> bool:
    del leaf
    return name.startswith("l2/")


@case(
    source="S2-12",
    inputs=dict(net=NET, x=normal(3, 10), y=normal(3, 1)),
    idiom=("SGD(filter(requires_grad, params), lr)", "jaxgrad.partition(params, predicate)"),
    control=dict(requires_grad=everything),
)
def filter_requires_grad(net, x, y, *, requires_grad=only_l2):
    """An optimizer given only the parameters that require grad trains exactly like one given all
    of them; only their indices in its state differ."""
    trained, frozen = jaxgrad.partition(net, requires_grad)
    # torch skips these parameters because `.grad` is None, `masked` because of their names.
    wanted = jax.tree.map(lambda leaf: leaf is not None, trained, is_leaf=lambda x: x is None)
    sgd = optax.sgd(0.1, momentum=0.9)
    return {
        "all": fine_tune(optax.masked(sgd, wanted), net, trained, frozen, x, y),
        "filtered": fine_tune(sgd, trained, trained, frozen, x, y),
    }


def fine_tune(tx: Any, given: Any, trained: Any, frozen: Any, x: jax.Array, y: jax.Array) -> Any:
    """Take three steps of an optimizer that was given these parameters."""

    def is_entry(node: Any) -> bool:
        return not isinstance(node, dict)

    def is_array(entry: Any) -> bool:
        return isinstance(entry, jax.Array)

    state = tx.init(given)
    losses, grads = [], None
    for _ in range(3):
        loss, grads = jaxgrad.value_and_grad(
            lambda trained: objective(jaxgrad.combine(trained, frozen), x, y)
        )(trained)
        updates, state = tx.update(grads, state)
        trained = optax.apply_updates(trained, updates)
        losses.append(loss)
    # One entry for each parameter that the optimizer was given: an array if it has state.
    trace = optax.tree.get(state, "trace")
    entries = [e for e in jax.tree.leaves(trace, is_leaf=is_entry) if e is not None]
    return {
        "losses": losses,
        "grads": grads,
        "params": jaxgrad.combine(trained, frozen),
        "given": len(entries),
        "state_indices": [i for i, entry in enumerate(entries) if is_array(entry)],
        "momentum": jax.tree.map(lambda e: e if is_array(e) else None, trace, is_leaf=is_entry),
    }


@case(
    source="S0-14",
    inputs=dict(net=PATHS, x=normal(3, 10), y=normal(3, 1)),
    idiom=("a(h.detach()) + b(h)", "a(lax.stop_gradient(h)) + b(h)"),
    control=dict(stop_gradient=identity),
    picture=True,
)
def single_headed(net, x, y, *, stop_gradient=lax.stop_gradient):
    """When two modules use a trunk and their outputs are added, the trunk's gradient is the sum
    over the paths that are not stopped; a module behind a stop still gets its own gradient."""

    def run(stop_a: bool, stop_b: bool):
        def objective(net):
            h = jnp.tanh(linear(net["trunk"], x))
            to_a = stop_gradient(h) if stop_a else h
            to_b = stop_gradient(h) if stop_b else h
            return mse(linear(net["a"], to_a) + linear(net["b"], to_b), y)

        loss, grads = jaxgrad.value_and_grad(objective)(net)
        return {"loss": loss, "grads": grads}

    return {
        "both_open": run(False, False),
        "a_stopped": run(True, False),
        "b_stopped": run(False, True),
        "both_stopped": run(True, True),
    }


@case(
    source="S0-15",
    inputs=dict(net=PATHS, x=normal(3, 10), y_a=normal(3, 1), y_b=normal(3, 1)),
    idiom=("loss_a(a(h)) + loss_b(b(h.detach()))", "loss_b(b(lax.stop_gradient(h)))"),
    control=dict(stop_gradient=identity),
    picture=True,
)
def multi_headed(net, x, y_a, y_b, *, stop_gradient=lax.stop_gradient):
    """With one loss per head and one head's gradient stopped, the trunk gets only the other head's
    gradient; the stopped head still learns."""

    def run(stop):
        def objective(net):
            h = jnp.tanh(linear(net["trunk"], x))
            loss_a = mse(linear(net["a"], h), y_a)
            loss_b = mse(linear(net["b"], stop(h)), y_b)
            return loss_a + loss_b, [loss_a, loss_b]

        (_, losses), grads = jaxgrad.value_and_grad(objective, has_aux=True)(net)
        return {"losses": losses, "grads": grads}

    return {
        "open": run(identity),
        "b_stopped": run(stop_gradient),
        "a_alone": jaxgrad.grad(head_a_alone)(net, x, y_a),
    }


def head_a_alone(net: Any, x: jax.Array, y: jax.Array) -> jax.Array:
    return mse(linear(net["a"], jnp.tanh(linear(net["trunk"], x))), y)
