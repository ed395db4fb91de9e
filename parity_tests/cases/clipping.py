"""Clipping gradients between backward and step."""

import math

import jax
import jax.numpy as jnp
import optax
from jax import lax

import jaxgrad
from jaxgrad import optim
from parity_tests.case import case, identity
from parity_tests.cases._net import linear, mse
from parity_tests.inputs import linear as draw_linear
from parity_tests.inputs import normal, uniform


NET = {"fc1": draw_linear(10, 5), "fc2": draw_linear(5, 1)}
UNUSED = draw_linear(4, 2)


def loss_of(net, x, y):
    return mse(linear(net["fc2"], jax.nn.relu(linear(net["fc1"], x))), y)


def only_norm(grads, max_norm, norm_type=2.0):
    """Return the gradients unclipped, with their norm."""
    del max_norm
    return grads, jaxgrad.clip_grad_norm(grads, math.inf, norm_type)[1]


def always_scale(grads, max_norm):
    """Scale to `max_norm` always, a common mistake, which also lengthens a short gradient."""
    norm = optax.tree.norm(grads)
    return jax.tree.map(lambda g: g * (max_norm / norm), grads), norm


def optax_clip(grads, max_norm):
    """Clip as optax does, dividing by the norm alone: a norm of exactly `max_norm` is unchanged."""
    clipped, _ = optax.clip_by_global_norm(max_norm).update(grads, optax.EmptyState())
    return clipped, optax.tree.norm(grads)


def euclidean(grads, max_norm, norm_type):
    del norm_type
    return jaxgrad.clip_grad_norm(grads, max_norm)


@case(
    source="S4-07",
    inputs=dict(net=NET, x=normal(3, 10), y=normal(3, 1, scale=100)),
    idiom=("clip_grad_norm_(params, 1.0)", "clip_grad_norm(grads, 1.0)"),
    control=dict(clip=only_norm),
)
def clip_grad_norm(net, x, y, *, clip=jaxgrad.clip_grad_norm):
    """A gradient longer than `max_norm` is scaled by max_norm / (norm + 1e-6)."""
    loss, grads = jaxgrad.value_and_grad(loss_of)(net, x, y)
    clipped, before = clip(grads, 1.0)
    return {"loss": loss, "before": before, "grads": clipped, "after": optax.tree.norm(clipped)}


@case(
    source="S4-07",
    inputs=dict(net=NET, x=normal(3, 10), y=normal(3, 1)),
    idiom=("clip_grad_norm_(params, 1e4)", "clip_grad_norm(grads, 1e4)"),
    control=dict(clip=always_scale),
)
def clip_grad_norm_below(net, x, y, *, clip=jaxgrad.clip_grad_norm):
    """A gradient shorter than `max_norm` - 1e-6 stays unchanged to the last bit."""
    loss, grads = jaxgrad.value_and_grad(loss_of)(net, x, y)
    clipped, before = clip(grads, 1e4)
    layers = [(name, leaf) for name in ("fc1", "fc2") for leaf in ("weight", "bias")]
    unchanged = [(clipped[name][leaf] == grads[name][leaf]).all() for name, leaf in layers]
    return {"loss": loss, "before": before, "grads": clipped, "unchanged": unchanged}


@case(
    source=("S4-07", "P140"),
    inputs=dict(x=uniform(5, low=0.002, high=0.004)),
    idiom=("clip_grad_norm_([w], w.grad.norm())", "clip_grad_norm(grad, norm)"),
    control=dict(clip=optax_clip),
)
def clip_grad_norm_at_max(x, *, clip=jaxgrad.clip_grad_norm):
    """A gradient whose norm is exactly `max_norm` is still shortened, by norm / (norm + 1e-6)."""
    grad = jaxgrad.grad(lambda w: jnp.sum(w * x))(jnp.zeros_like(x))
    norm = jnp.linalg.norm(grad)
    clipped, _ = clip(grad, norm)
    return {"norm": norm, "grad": clipped, "shorter": jnp.linalg.norm(clipped) < norm}


@case(
    source=("S4-07", "P141"),
    inputs=dict(net=NET, x=normal(3, 10), y=normal(3, 1, scale=100)),
    idiom=("clip_grad_norm_(params, 1.0, inf)", "clip_grad_norm(grads, 1.0, jnp.inf)"),
    control=dict(clip=euclidean),
)
def clip_grad_norm_types(net, x, y, *, clip=jaxgrad.clip_grad_norm):
    """`norm_type` selects any p-norm: 1, infinity, or a number between."""

    def clipped(norm_type):
        grads, before = clip(jaxgrad.grad(loss_of)(net, x, y), 0.1, norm_type)
        return {"before": before, "grads": grads}

    return {"1": clipped(1), "2": clipped(2), "3": clipped(3), "inf": clipped(math.inf)}


@case(
    source=("S4-07", "P139"),
    inputs=dict(net=NET | {"fc3": UNUSED}, x=normal(3, 10), y=normal(3, 1, scale=100)),
    idiom=("fc1.requires_grad_(False); clip_grad_norm_", "stop_gradient(fc1); clip_grad_norm"),
    control=dict(stop_gradient=identity),
)
def clip_grad_norm_none(net, x, y, *, stop_gradient=lax.stop_gradient):
    """Parameters without a gradient, frozen or unused, stay None and do not enter the norm."""

    def loss(net):
        return loss_of(net | {"fc1": stop_gradient(net["fc1"])}, x, y)

    value, grads = jaxgrad.value_and_grad(loss)(net)
    clipped, before = jaxgrad.clip_grad_norm(grads, 1.0)
    return {"loss": value, "before": before, "grads": clipped}


@case(
    source="S4-07",
    inputs=dict(net=NET, x=normal(3, 10), y=normal(3, 1, scale=100)),
    idiom=("clip_grad_value_(params, 0.5)", "clip_grad_value(grads, 0.5)"),
    control=dict(clip_grad_value=identity),
)
def clip_grad_value(net, x, y, *, clip_grad_value=jaxgrad.clip_grad_value):
    """Every element of every gradient is clamped to [-clip_value, clip_value] on its own."""
    loss, grads = jaxgrad.value_and_grad(loss_of)(net, x, y)
    return {"loss": loss, "grads": clip_grad_value(grads, 0.5)}


def all_together(transforms, labels):
    """Clip both groups by one common norm."""
    del labels
    return transforms["fc1"]


@case(
    source=("S4-07", "P140"),
    inputs=dict(net=NET, x=normal(3, 10), y=normal(3, 1, scale=100)),
    idiom=(
        'clip_grad_norm_(group["params"], 1.0)',
        "partition({name: clip_grad_norm(1.0)}, labels)",
    ),
    control=dict(partition=all_together),
)
def clip_grad_norm_by_group(net, x, y, *, partition=optax.partition):
    """Each parameter group is clipped by its own norm where torch clips group by group."""
    loss, grads = jaxgrad.value_and_grad(loss_of)(net, x, y)
    clip = partition(
        {name: optim.clip_grad_norm(1.0) for name in net}, {name: name for name in net}
    )
    clipped, _ = clip.update(grads, clip.init(net))
    params = jax.tree.map(lambda p, g: p - 0.1 * g, net, clipped)
    return {"loss": loss, "grads": clipped, "params": params}
