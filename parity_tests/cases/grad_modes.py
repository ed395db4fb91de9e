"""Where gradients stop: a value is stopped, or it is not among the differentiated arguments."""

from typing import Any

import jax
import jax.numpy as jnp
import numpy as np
from jax import lax

import jaxgrad
from parity_tests.case import Deviation, Raises, case, identity
from parity_tests.cases._net import NET, error_of, forward, linear, mse
from parity_tests.inputs import bernoulli, document, normal, uniform
from parity_tests.inputs import linear as draw_linear


INPUTS = dict(net=NET, x=normal(3, 10), y=normal(3, 1))
SHARED = "grad_modes/detach"  # the same network everywhere, so that results can be compared


def requires_grad_of(fun: Any, *args: Any) -> bool:
    """Return torch's flag of `fun`'s value: whether a path leads to it from any of these
    arguments.
    """
    return any(jax.tree.leaves(jaxgrad.depends_on(fun, *args)))


@case(
    source="S0-01",
    inputs=INPUTS,
    inputs_of=SHARED,
    idiom=("loss.backward()", "jaxgrad.value_and_grad(loss)(net)"),
    picture=True,
)
def nothing_stopped(net, x, y):
    """With nothing stopped, both layers get their gradients."""
    loss, grads = jaxgrad.value_and_grad(lambda net: mse(forward(net, x), y))(net)
    return {"loss": loss, "grads": grads}


@case(
    source="S0-02",
    inputs=INPUTS,
    idiom=("h.detach()", "lax.stop_gradient(h)"),
    control=dict(stop_gradient=identity),
    picture=True,
)
def detach(net, x, y, *, stop_gradient=lax.stop_gradient):
    """`detach` after L1 leaves L1 without gradients (None, not zero); L2 keeps its own."""

    def hidden(l1):
        return stop_gradient(linear(l1, x))

    def objective(net):
        return mse(linear(net["l2"], hidden(net["l1"])), y)

    loss, grads = jaxgrad.value_and_grad(objective)(net)
    flag = requires_grad_of(hidden, net["l1"])
    return {"loss": loss, "h_requires_grad": flag, "grads": grads}


@case(
    source=("S0-03", "P183"),
    inputs=INPUTS,
    inputs_of=SHARED,
    idiom=("with torch.no_grad(): h = l1(x)", "h = jaxgrad.no_grad(l1)(params, x)"),
    control=dict(no_grad=identity),
    picture=True,
)
def no_grad(net, x, y, *, no_grad=jaxgrad.no_grad):
    """`no_grad` around L1 gives the gradients of `detach`; L1's output never required grad."""

    def hidden(l1):
        return no_grad(linear)(l1, x)

    def objective(net):
        return mse(linear(net["l2"], hidden(net["l1"])), y)

    loss, grads = jaxgrad.value_and_grad(objective)(net)
    flag = requires_grad_of(hidden, net["l1"])
    return {"loss": loss, "h_requires_grad": flag, "grads": grads}


@case(
    source="S0-04",
    inputs=dict(x=document(np.ones(10))),
    idiom=("with torch.no_grad(): y = x**2", "y = jaxgrad.no_grad(lambda: x**2)()"),
    control=dict(no_grad=identity),
    expect={
        "both_outside/grad": np.full(10, 5.0),
        "y_inside/grad": np.full(10, 3.0),
        "z_inside/grad": np.full(10, 2.0),
    },
    picture=True,
)
def no_grad_part(x, *, no_grad=jaxgrad.no_grad):
    """Only the terms computed outside `no_grad` add to the gradient of a sum. With none outside
    there is nothing to differentiate: an error in torch, and on request in JAX."""

    def both_outside(x):
        return jnp.sum(x**2 + x**3)

    def y_inside(x):
        return jnp.sum(no_grad(lambda: x**2)() + x**3)

    def z_inside(x):
        return jnp.sum(x**2 + no_grad(lambda: x**3)())

    def both_inside(x):
        return jnp.sum(no_grad(lambda: x**2 + x**3)())

    def backward(fun):
        total, grad = jaxgrad.value_and_grad(fun)(x)
        return {"total": total, "grad": grad}

    refused = error_of(lambda: jaxgrad.value_and_grad(both_inside, unused="error")(x))
    return {
        "both_outside": backward(both_outside),
        "y_inside": backward(y_inside),
        "z_inside": backward(z_inside),
        "both_inside": isinstance(refused, ValueError),
    }


@case(
    source=("S1-08", "S4-05"),
    inputs=dict(x=document(2.0)),
    idiom=("y.requires_grad", "any(tree.leaves(jaxgrad.depends_on(f, x)))"),
    control=dict(no_grad=identity),
    expect={"inside/value": 6.0, "after/value": 6.0, "grad": 18.0},
)
def requires_grad_flag(x, *, no_grad=jaxgrad.no_grad):
    """A value computed under `no_grad` does not require grad and is a constant; operations after
    the region are recorded again."""

    def inside(x):
        return no_grad(lambda x: x * 3)(x)

    def after(x):
        return x * 3

    def observe(fun):
        return {"value": fun(x), "requires_grad": requires_grad_of(fun, x)}

    _, grad = jaxgrad.value_and_grad(lambda x: inside(x) * after(x))(x)
    return {"inside": observe(inside), "after": observe(after), "grad": grad}


def head_grads(net, x, y):
    """Compute the loss and the head's gradients by the formula in numpy; the trunk has none."""
    h = x @ net["l1"]["weight"].T + net["l1"]["bias"]
    apart = h @ net["l2"]["weight"].T + net["l2"]["bias"] - y
    ct = 2 * apart / apart.size
    grads = {
        "l1": {"weight": None, "bias": None},
        "l2": {"weight": ct.T @ h, "bias": ct.sum(0)},
    }
    return h, np.mean(apart**2), grads


def inference_mode_torch(net, x, y):
    return {
        "h": head_grads(net, x, y)[0],
        "forward": Raises(RuntimeError, "Inference tensors cannot be saved for backward"),
        "in_place": Raises(RuntimeError, "Inplace update to inference tensor outside"),
    }


def inference_mode_jax(net, x, y):
    h, loss, grads = head_grads(net, x, y)
    return {
        "h": h,
        "forward": {"loss": loss, "grads": grads},
        "in_place": h + 1,
    }


@case(
    source=("S0-05", "P183"),
    inputs=INPUTS,
    inputs_of=SHARED,
    idiom=(
        "with inference_mode(): h = l1(x) ... l2(h)  # raises",
        "jaxgrad.no_grad(l1)(params, x)",
    ),
    control=dict(no_grad=identity),
    deviation=Deviation(
        why="torch marks tensors of `inference_mode` and refuses to save or change them "
        "outside of it. JAX arrays carry no such mark and never change, so a constant can "
        "be used anywhere.",
        torch_is=inference_mode_torch,
        jax_is=inference_mode_jax,
    ),
    picture=True,
)
def inference_mode(net, x, y, *, no_grad=jaxgrad.no_grad):
    """A tensor computed in `inference_mode` can neither be saved for backward nor changed in place
    outside of it; in JAX the same program trains L2."""

    def objective(net):
        return mse(linear(net["l2"], no_grad(linear)(net["l1"], x)), y)

    h = linear(net["l1"], x)
    loss, grads = jaxgrad.value_and_grad(objective)(net)
    return {
        "h": h,
        "forward": {"loss": loss, "grads": grads},
        "in_place": h.at[...].add(1),
    }


@case(
    source=("S0-06", "P183"),
    inputs=INPUTS,
    inputs_of=SHARED,
    idiom=("l2(torch.clone(h))", "linear(l2, h)"),
    control=dict(no_grad=identity),
    picture=True,
)
def inference_clone(net, x, y, *, no_grad=jaxgrad.no_grad):
    """A clone of an inference tensor can be trained on: L1 has no gradients, L2 has its own. The
    output computed entirely in `inference_mode` has the same value and does not require grad."""

    def pure(net):
        return no_grad(forward)(net, x)

    def out(net):
        return linear(net["l2"], no_grad(linear)(net["l1"], x))

    def observe(fun):
        return {"value": fun(net), "requires_grad": requires_grad_of(fun, net)}

    loss, grads = jaxgrad.value_and_grad(lambda net: mse(out(net), y))(net)
    return {"pure": observe(pure), "out": observe(out), "loss": loss, "grads": grads}


def all_trainable(tree, predicate):
    """Replace `partition` in the control: every parameter is trainable."""
    del predicate
    return tree, jax.tree.map(lambda _: None, tree)


@case(
    source=("S2-11", "P135"),
    inputs=INPUTS,
    inputs_of=SHARED,
    idiom=("l1.requires_grad_(False)", "jaxgrad.partition(net, is_trainable)"),
    control=dict(partition=all_trainable, no_grad=identity),
    picture=True,
)
def requires_grad(net, x, y, *, partition=jaxgrad.partition, no_grad=jaxgrad.no_grad):
    """`module.requires_grad_(False)` freezes its parameters and lets the gradient through to the
    input; `no_grad`, often called equivalent, cuts that gradient too."""
    trainable, frozen = partition(net, lambda name, _: not name.startswith("l1/"))

    def freezing(trainable, x):
        return mse(forward(jaxgrad.combine(trainable, frozen), x), y)

    def region(net, x):
        return mse(linear(net["l2"], no_grad(linear)(net["l1"], x)), y)

    by_leaf = jaxgrad.value_and_grad(freezing, argnums=(0, 1))
    loss, (grads, x_grad) = by_leaf(trainable, x)
    _, (region_grads, region_x_grad) = jaxgrad.value_and_grad(region, argnums=(0, 1))(net, x)
    return {
        "loss": loss,
        "requires_grad_(False)": {"grads": grads, "x": x_grad},
        "no_grad": {"grads": region_grads, "x": region_x_grad},
    }


REGULARISED = {
    "l1": {"weight": draw_linear(10, 5)["weight"]},
    "bn": {"weight": uniform(5, low=0.5, high=1.5), "bias": normal(5)},
    "l2": draw_linear(5, 1),
}
STATS = {"running_mean": normal(5), "running_var": uniform(5, low=0.5, high=2.0)}
KEEP = 0.5


def regularised(net, stats, mask, x, training):
    """Apply linear, batch norm, dropout and linear; return the running statistics too."""
    h = x @ net["l1"]["weight"].T
    mean, var = stats["running_mean"], stats["running_var"]
    if training:
        n = x.shape[0]
        running_mean, running_var = mean, var
        mean, var = h.mean(0), h.var(0)
        stats = {
            "running_mean": 0.9 * running_mean + 0.1 * mean,
            "running_var": 0.9 * running_var + 0.1 * var * n / (n - 1),
        }
    h = (h - mean) / jnp.sqrt(var + 1e-5) * net["bn"]["weight"] + net["bn"]["bias"]
    if training:
        h = h * mask / KEEP
    return linear(net["l2"], h), stats


@case(
    source=("S0-12", "S2-13"),
    inputs=dict(
        net=REGULARISED,
        stats=STATS,
        mask=bernoulli(6, 5, p=KEEP),
        x=normal(6, 10),
        y=normal(6, 1),
    ),
    idiom=("model.eval()", "apply(params, x, training=False)"),
    control=dict(training=True),
)
def eval_mode(net, stats, mask, x, y, *, training=False):
    """`eval()` is not `no_grad`: dropout is off and batch norm uses its running statistics, but
    every parameter still gets the gradient of the formula without dropout."""

    def backward(training):
        def objective(net):
            out, after = regularised(net, stats, mask, x, training)
            return mse(out, y), after

        (loss, after), grads = jaxgrad.value_and_grad(objective, has_aux=True)(net)
        flag = requires_grad_of(lambda net: regularised(net, stats, mask, x, training)[0], net)
        return {"loss": loss, "requires_grad": flag, "grads": grads, "stats": after}

    return {"train": backward(True), "eval": backward(training)}


def numpy_torch(w):
    changed = np.concatenate([np.zeros_like(w[:1]), w[1:]])
    refused = Raises(RuntimeError, "Can't call numpy() on Tensor that requires grad")
    return numpy_jax(w) | {"numpy": refused, "w": changed}


def numpy_jax(w):
    changed = np.concatenate([np.zeros_like(w[:1]), w[1:]])
    loss = np.sum(w * w)
    return {"numpy": w, "detached": w, "changed": changed, "w": w, "loss": loss, "grad": w}


@case(
    source="S0-13",
    inputs=dict(w=normal(4)),
    idiom=("w.numpy()  # raises; w.detach().numpy()", "lax.stop_gradient(w)"),
    control=dict(stop_gradient=identity),
    deviation=Deviation(
        why="A JAX array has no `requires_grad`, so it can always be read. `numpy.array` "
        "copies it, so the original keeps its value.",
        torch_is=numpy_torch,
        jax_is=numpy_jax,
    ),
    devices=("cpu",),  # on a GPU torch must copy, and nothing is shared
)
def numpy(w, *, stop_gradient=lax.stop_gradient):
    """`numpy()` of a tensor that requires grad raises; `detach().numpy()` returns its value as a
    constant that shares its storage, so writing to the array changes the tensor."""

    def objective(w):
        return jnp.sum(w * stop_gradient(w))

    detached = w
    changed = detached.at[0].set(0.0)
    loss, grad = jaxgrad.value_and_grad(objective)(w)
    return {
        "numpy": w,
        "detached": detached,
        "changed": changed,
        "w": w,
        "loss": loss,
        "grad": grad,
    }


@case(
    source="S2-09",
    inputs=dict(w=normal(4)),
    idiom=("k.detach(), k.item(), k.tolist()", "lax.stop_gradient(k)"),
    control=dict(stop_gradient=identity),
)
def leave_graph(w, *, stop_gradient=lax.stop_gradient):
    """`detach`, `numpy`, `item` and `tolist` keep the value and leave the graph: their results
    are constants to everything that is differentiated later."""

    def backward(leave):
        loss, grad = jaxgrad.value_and_grad(lambda w: jnp.sum(leave(w**2) * w))(w)
        return {"loss": loss, "grad": grad}

    return {
        "detach": backward(stop_gradient),
        "numpy": backward(stop_gradient),
        "item": backward(lambda k: stop_gradient(jnp.sum(k))),
        "tolist": backward(stop_gradient),
    }


def detach_shares_storage_torch(w):
    first = np.arange(w.size) == 0
    overwritten = np.where(first, 0, 2 * w)
    return {
        "loss": np.sum((2 * w) ** 2),
        "m": overwritten,
        "k": overwritten,
        "grad": Raises(RuntimeError, "has been modified by an inplace operation"),
        "grad_after_numpy": 4 * overwritten,
    }


def detach_shares_storage_jax(w):
    overwritten = np.where(np.arange(w.size) == 0, 0, 2 * w)
    return {
        "loss": np.sum((2 * w) ** 2),
        "m": overwritten,
        "k": 2 * w,
        "grad": 8 * w,
        "grad_after_numpy": 8 * w,
    }


@case(
    source=("S2-09", "P181"),
    inputs=dict(w=normal(4)),
    idiom=("k.detach()[0] = 0; loss.backward()  # raises", "k.at[0].set(0)  # k stays"),
    deviation=Deviation(
        why="JAX arrays are immutable: an update returns a new array, and a residual of the "
        "backward pass cannot be overwritten.",
        torch_is=detach_shares_storage_torch,
        jax_is=detach_shares_storage_jax,
    ),
    devices=("cpu",),  # on a GPU `numpy` copies
)
def detach_shares_storage(w):
    """`detach()` shares storage: writing to it changes the original, and backward raises. A write
    through `detach().numpy()` goes unnoticed, and the gradient is silently wrong."""

    def objective(w):
        k = w * 2
        loss = jnp.sum(k**2)
        return loss, (k, k.at[0].set(0.0))

    (loss, (k, m)), grad = jaxgrad.value_and_grad(objective, has_aux=True)(w)
    return {"loss": loss, "m": m, "k": k, "grad": grad, "grad_after_numpy": grad}


@case(
    source=("S4-04", "P137"),
    inputs=dict(x=document(2.0)),
    idiom=("(y.detach() * 2).backward()", "jaxgrad.grad(f)(x)  # None"),
    control=dict(stop_gradient=identity),
    expect={"z": 12.0},
    deviation=Deviation(
        why="The result has no graph, so torch raises. jaxgrad returns None for an input that "
        'the result does not depend on, and raises with `unused="error"`.',
        torch_is=lambda x: {
            "z": x * 6,
            "grad": Raises(RuntimeError, "does not require grad and does not have a grad_fn"),
        },
        jax_is=lambda x: {"z": x * 6, "grad": None},
    ),
    picture=True,
)
def detach_backward(x, *, stop_gradient=lax.stop_gradient):
    """`backward()` raises on a result whose graph `detach` cut off entirely; in JAX its gradient is
    None."""

    def objective(x):
        return stop_gradient(x * 3) * 2

    z, grad = jaxgrad.value_and_grad(objective)(x)
    return {"z": z, "grad": grad}


def trained(objective, net, *, head_only=False, zero_l1=False):
    """Return the parameters that the loss depends on, their gradients, and a step of SGD."""
    loss, grads = jaxgrad.value_and_grad(objective)(net)
    if zero_l1:
        grads |= {"l1": jax.tree.map(jnp.zeros_like, grads["l1"])}
    stepped = jax.tree.map(lambda p, g: p if g is None else p - 0.1 * g, net, grads)
    return {
        "reachable": jaxgrad.depends_on(objective, net),
        "loss": loss,
        "grads": grads,
        "params": stepped | {"l1": net["l1"]} if head_only else stepped,
    }


@case(
    source="S0-17",
    inputs=INPUTS,
    inputs_of=SHARED,
    idiom=("loss.grad_fn.next_functions", "jaxgrad.depends_on(loss, net)"),
    control=dict(stop_gradient=identity, no_grad=identity),
    picture=True,
)
def recorded(net, x, y, *, stop_gradient=lax.stop_gradient, no_grad=jaxgrad.no_grad):
    """Five ways to update only L2, beside the plain step. Under `detach` L1 is recorded, but the
    loss does not reach it; under `no_grad` and `inference_mode` it is never recorded. If the
    optimizer is given only L2, or L1's gradient is zeroed by hand, the graph holds all of L1."""

    def observe(layer=linear, hand_on=identity, **update):
        def hidden(net):
            return layer(net["l1"], x)

        def out(net):
            return linear(net["l2"], hand_on(hidden(net)))

        recorded = jaxgrad.depends_on(lambda net: (hidden(net), out(net)), net)
        return {"recorded": recorded, **trained(lambda net: mse(out(net), y), net, **update)}

    return {
        "nothing": observe(),
        "detach": observe(hand_on=stop_gradient),
        "no_grad": observe(layer=no_grad(linear)),
        "inference_mode": observe(layer=no_grad(linear)),
        "optimizer": observe(head_only=True),
        "manual": observe(zero_l1=True),
    }
