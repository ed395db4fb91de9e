"""Hooks: observing a cotangent during the backward pass, and changing it."""

import jax
import jax.numpy as jnp
from jax import lax

import jaxgrad
from parity_tests.case import case, identity
from parity_tests.cases._net import NET, forward, linear, mse
from parity_tests.inputs import document, integers, normal, uniform
from parity_tests.inputs import linear as draw_linear


MLP = {"fc1": draw_linear(10, 5), "fc2": draw_linear(5, 1)}
CELL = {"input": uniform(4, 3, low=-0.5, high=0.5), "recurrent": uniform(4, 4, low=-0.5, high=0.5)}
DEEP = {name: draw_linear(6, 6) for name in ("fc1", "fc2", "fc3", "fc4", "fc5")}


def clamp(grad):
    return jnp.clip(grad, -1, 1)


def mlp(net, x):
    return linear(net["fc2"], jax.nn.relu(linear(net["fc1"], x)))


@case(
    source=("S4-09", "P155"),
    inputs=dict(net=MLP, x=normal(5, 10), y=normal(5, 1, scale=100)),
    idiom=("w.register_hook(lambda g: g.clamp(-1, 1))", "w = hook(w, lambda g: g.clip(-1, 1))"),
    control=dict(hook=identity),
    picture=True,
)
def register_hook(net, x, y, *, hook=jaxgrad.hook):
    """Hooks on a parameter watch the smallest and largest gradient, then clamp it to [-1, 1]."""

    def loss(net):
        weight = hook(net["fc1"]["weight"], clamp)
        # What is later in the forward pass is earlier in the backward pass.
        weight = jaxgrad.retain_grad(weight, "watched")
        return mse(mlp(net | {"fc1": net["fc1"] | {"weight": weight}}, x), y)

    value, grads, retained = jaxgrad.value_and_retained_grads(loss)(net)
    watched = retained["watched"]
    seen = {"min": jnp.min(watched), "max": jnp.max(watched)}
    return {"loss": value, "grads": grads, "seen": seen}


def with_weight(net, weight):
    """Return the network with another weight in its first layer."""
    return net | {"fc1": net["fc1"] | {"weight": weight}}


def at_each_use(w):
    """Replace the single hook in the control: each of the two uses has its own."""
    return jaxgrad.hook(w, clamp), jaxgrad.hook(w, clamp)


@case(
    source=("S4-09", "P155"),
    inputs=dict(net=MLP, left=normal(5, 10), right=normal(5, 10), y=normal(5, 1, scale=100)),
    idiom=(
        "w.register_hook(clamp)  # two uses of w",
        "w = hook(w, clamp)  # once, then use it twice",
    ),
    control=dict(uses=at_each_use),
)
def register_hook_sum(net, left, right, y, *, uses=lambda w: [jaxgrad.hook(w, clamp)] * 2):
    """A parameter's hook sees the sum over its uses in this backward, before it is added to
    `.grad`.
    """

    def loss(net):
        first, second = uses(net["fc1"]["weight"])
        first, second = jaxgrad.retain_grad(first, "1"), jaxgrad.retain_grad(second, "2")
        return mse(mlp(with_weight(net, first), left) - mlp(with_weight(net, second), right), y)

    grads, seen = None, []
    for _ in range(2):
        _, new, by_use = jaxgrad.value_and_retained_grads(loss)(net)
        grads = jaxgrad.accumulate(grads, new)
        seen.append(by_use["1"] + by_use["2"])
    return {"seen": seen, "grads": grads}


@case(
    source="P155",
    inputs=dict(x=document(1.0)),
    idiom=("h.register_hook(fn); 3 * h + 5 * h", "h = hook(h, fn); 3 * h + 5 * h"),
    control=dict(hook=identity),
    expect={"grad": 2.0},
    picture=True,
)
def tensor_hook(x, *, hook=jaxgrad.hook):
    """A tensor's hook runs once on the summed gradient, 8, not on 3 and 5; clamped to 1, x gets
    2.
    """

    def loss(x):
        h = hook(2 * x, lambda grad: jnp.minimum(grad, 1))
        return 3 * h + 5 * h

    value, grad = jaxgrad.value_and_grad(loss)(x)
    return {"loss": value, "grad": grad}


@case(
    source="P155",
    inputs=dict(net=NET, x=normal(3, 10), y=normal(3, 1)),
    idiom=("h.register_hook(watch)", "h = hook(h, watch)"),
    control=dict(hook=identity),
)
def hook_watch(net, x, y, *, hook=jaxgrad.hook):
    """A hook that returns nothing observes the gradient and leaves it unchanged."""
    seen = {}

    def watch(grad):
        seen["shape"] = list(grad.shape)

    def loss(net):
        h = hook(linear(net["l1"], x), watch)
        return mse(linear(net["l2"], h), y)

    value, grads = jaxgrad.value_and_grad(loss)(net)
    return {"loss": value, "grads": grads, "seen": seen}


@case(
    source=("P155", "P156"),
    inputs=dict(x=normal(4)),
    idiom=("h.register_hook(f); h.register_hook(g)", "h = hook(hook(h, g), f)"),
    control=dict(hook=identity),
)
def hook_order(x, *, hook=jaxgrad.hook):
    """Hooks run in the order of registration; `retain_grad` keeps the last one's return value."""

    def loss(x):
        h = jaxgrad.retain_grad(x * x, "h")
        h = hook(h, lambda grad: grad + 1)
        h = hook(h, lambda grad: 2 * grad)
        return jnp.sum(jnp.sin(h))

    value, grad, retained = jaxgrad.value_and_retained_grads(loss)(x)
    return {"loss": value, "h": retained["h"], "x": grad}


@case(
    source="P155",
    inputs=dict(x=normal(4)),
    idiom=("grad(y, x, create_graph=True)  # hooked", "grad(grad(f))  # hooked"),
    control=dict(hook=identity),
)
def hook_create_graph(x, *, hook=jaxgrad.hook):
    """With `create_graph`, the operations inside a hook are part of the graph and
    differentiable.
    """

    def first(x):
        def value(x):
            return jnp.sum(hook(2 * x, lambda grad: grad * grad) ** 3)

        return jaxgrad.grad(value)(x)

    second = jaxgrad.grad(lambda x: jnp.sum(first(x)))(x)
    return {"first": first(x), "second": second}


def rnn(cell, x, visit):
    """Return the last hidden state of a tanh cell run over the steps of x (time, batch, n_in)."""

    def step(h, x):
        h = visit(jnp.tanh(x @ cell["input"].T + h @ cell["recurrent"].T))
        return h, None

    start = jnp.zeros((x.shape[1], cell["recurrent"].shape[0]), x.dtype)
    return lax.scan(step, start, x)[0]


@case(
    source="P156",
    inputs=dict(cell=CELL, x=normal(6, 3, 3), y=normal(3, 4)),
    idiom=("h.retain_grad(); h.grad", 'h = retain_grad(h, "h")  # in a scan: stacked'),
    control=dict(retain_grad=identity),
)
def retain_grad(cell, x, y, *, retain_grad=jaxgrad.retain_grad):
    """`retain_grad` keeps the gradient of every hidden state of a recurrent network."""

    def loss(cell):
        return mse(rnn(cell, x, lambda h: retain_grad(h, "h")), y)

    value, grads, retained = jaxgrad.value_and_retained_grads(loss)(cell)
    return {"loss": value, "grads": grads, "retained": retained}


@case(
    source="P155",
    inputs=dict(cell=CELL, x=normal(6, 3, 3), y=normal(3, 4)),
    idiom=("h.register_hook(clamp)  # every step", "h = hook(h, clamp)  # in a scan"),
    control=dict(hook=identity),
)
def hook_every_step(cell, x, y, *, hook=jaxgrad.hook):
    """A hook on every hidden state clamps the gradient between the steps of a recurrent network."""

    def loss(cell):
        return mse(rnn(cell, x, lambda h: hook(h, lambda g: jnp.clip(g, -0.01, 0.01))), y)

    value, grads = jaxgrad.value_and_grad(loss)(cell)
    return {"loss": value, "grads": grads}


def no_backward_hook(fun, hook):
    del hook
    return fun


@case(
    source="P157",
    inputs=dict(net=NET, x=normal(3, 10), y=normal(3, 1)),
    idiom=("layer.register_full_backward_hook(hook)", "layer = backward_hook(layer, hook)"),
    control=dict(backward_hook=no_backward_hook),
)
def full_backward_hook(net, x, y, *, backward_hook=jaxgrad.backward_hook):
    """A module's hook replaces the gradient of its input, never that of its own parameters."""

    def hook(grad_input, grad_output):
        return (2 * grad_input[0] + jnp.sum(grad_output[0]),)

    def loss(net):
        l2 = backward_hook(lambda h: linear(net["l2"], h), hook)
        return mse(l2(linear(net["l1"], x)), y)

    value, grads = jaxgrad.value_and_grad(loss)(net)
    return {"loss": value, "grads": grads}


@case(
    source=("P157", "P163"),
    inputs=dict(x=normal(3, 5), index=integers(4, high=5)),
    idiom=("grad_input[1]  # of an index: zeros", "grad_inputs[1]  # of an index: zeros"),
    control=dict(backward_hook=no_backward_hook),
)
def full_backward_hook_integer(x, index, *, backward_hook=jaxgrad.backward_hook):
    """A module's hook gets integer zeros for an integer input, which has no gradient."""
    seen = {}

    def hook(grad_input, grad_output):
        del grad_output
        seen["dtype"] = str(grad_input[1].dtype)
        seen["shape"] = list(grad_input[1].shape)
        return jnp.minimum(grad_input[0], 1), grad_input[1]

    pick = backward_hook(lambda x, index: x[:, index] ** 2, hook)
    value, grad = jaxgrad.value_and_grad(lambda x: jnp.sum(pick(x, index)))(x)
    return {"loss": value, "grad": grad, "seen": seen}


@case(
    source="P157",
    inputs=dict(net=NET, x=normal(3, 10), y=normal(3, 1)),
    idiom=("layer.register_full_backward_pre_hook(fn)", "h = hook(layer(x), fn)"),
    control=dict(hook=identity),
)
def full_backward_pre_hook(net, x, y, *, hook=jaxgrad.hook):
    """A module's pre-hook changes the gradient of its output before the parameters' gradients."""

    def loss(net):
        h = hook(linear(net["l1"], x), lambda grad: grad / 2)
        return mse(linear(net["l2"], h), y)

    value, grads = jaxgrad.value_and_grad(loss)(net)
    return {"loss": value, "grads": grads}


@case(
    source="P157",
    inputs=dict(net=NET, x=normal(4, 3, 10), y=normal(4, 3, 1, scale=10)),
    idiom=("w.register_post_accumulate_grad_hook(clamp)", "grads = clamp(accumulate(grads, new))"),
    control=dict(clamp=identity),
)
def post_accumulate_grad_hook(net, x, y, *, clamp=clamp):
    """A post-accumulate hook sees `.grad` summed over all batches so far, not the newest
    gradient.
    """
    grads = None
    for i in range(x.shape[0]):
        _, new = jaxgrad.value_and_grad(lambda net, i=i: mse(forward(net, x[i]), y[i]))(net)
        grads = jaxgrad.accumulate(grads, new)
        grads["l1"]["weight"] = clamp(grads["l1"]["weight"])
    return {"grads": grads}


@case(
    source="P157",
    inputs=dict(net=NET, x=normal(3, 10), y=normal(3, 1)),
    idiom=("p.register_post_accumulate_grad_hook(step)", "params = tree.map(step, params, grads)"),
)
def step_in_backward(net, x, y):
    """An optimizer step in a post-accumulate hook equals the usual step and leaves no `.grad`."""
    losses = []
    for _ in range(3):
        value, grads = jaxgrad.value_and_grad(lambda net: mse(forward(net, x), y))(net)
        net = jax.tree.map(lambda p, grad: p - 0.1 * grad, net, grads)
        losses.append(value)
    return {"losses": jnp.stack(losses), "params": net, "grads": jax.tree.map(lambda _: None, net)}


@case(
    source="S4-11",
    inputs=dict(net=DEEP, x=normal(8, 6), y=uniform(8, 6)),
    idiom=("layer.weight.grad.norm()", "tree.map(jnp.linalg.norm, grads)"),
    picture=True,
)
def gradient_norms(net, x, y):
    """Hooks record each layer's gradient magnitude at each step; it vanishes towards the input."""

    def loss(net):
        return mse(sigmoids(net, x), y)

    def step(net, _):
        value, grads = jaxgrad.value_and_grad(loss)(net)
        norms = {name: jnp.linalg.norm(grads[name]["weight"]) for name in net}
        return jax.tree.map(lambda p, grad: p - 0.5 * grad, net, grads), (value, norms)

    _, (losses, norms) = lax.scan(step, net, length=10)
    return {"losses": losses, "norms": norms}


def sigmoids(net, h):
    """Apply all layers, each a linear layer and a sigmoid."""
    for name in sorted(net):
        h = jax.nn.sigmoid(linear(net[name], h))
    return h
