"""The parameters that an optimizer moves: None gradients, groups, frozen layers, saved states."""

import jax
import jax.numpy as jnp
import numpy as np
import optax
from jax import lax

import jaxgrad
from jaxgrad import optim
from jaxgrad.optim import lr_scheduler
from parity_tests.case import case
from parity_tests.cases._net import NET, forward, mse
from parity_tests.cases._net import linear as apply
from parity_tests.inputs import linear, normal, uniform


SHAPES = ((5, 10), (5,), (1, 5), (1,))  # shapes of the network's parameters, in torch's order


def loss_of(net, x, y):
    return mse(forward(net, x), y)


def descend(tx, net, x, y, steps):
    """Return the parameters after every step."""
    state, path = tx.init(net), []
    for _ in range(steps):
        updates, state = tx.update(jaxgrad.grad(loss_of)(net, x, y), state, net)
        net = optax.apply_updates(net, updates)
        path.append(net)
    return path


def nothing(grad):
    """Replace a gradient by None."""
    del grad


@case(
    source=("P131", "P132", "P133"),
    inputs=dict(net=NET, x=normal(3, 10), y=normal(3, 1)),
    idiom=("net.l1.zero_grad(); optimizer.step()", 'tx.step(grads | {"l1": None}, state, net)'),
    control=dict(absent=jnp.zeros_like),
)
def none_gradient(net, x, y, *, absent=nothing):
    """A parameter without a gradient does not move: no weight decay, no momentum, no step count."""
    tx = optim.adamw(0.1, weight_decay=0.1)
    state, steps = tx.init(net), []
    for i in range(4):
        grads = jaxgrad.grad(loss_of)(net, x, y)
        if i in (1, 2):
            grads = grads | {"l1": jax.tree.map(absent, grads["l1"])}
        net, state = tx.step(grads, state, net)
        steps.append(observed(net, state))
    return steps


def observed(net, state):
    """Return the parameters, and the state of L1's weight."""
    exp_avg, step = (tree["l1"]["weight"] for tree in (state.exp_avg, state.step))
    return {"params": net, "exp_avg": exp_avg, "step": step.astype(jnp.int32)}


def loss_of_head(net, head, x, y):
    hidden = apply(net["trunk"], x)
    return mse(jnp.where(head == 0, apply(net["a"], hidden), apply(net["b"], hidden)), y)


def one_head(head):
    """Mark the trunk and the active head as trainable."""
    return {"trunk": True, "a": head == 0, "b": head == 1}


def both_heads(head):
    del head
    return True


@case(
    source="P132",
    inputs=dict(
        net={"trunk": linear(10, 5), "a": linear(5, 1), "b": linear(5, 1)},
        x=normal(3, 10),
        y=normal(3, 1),
    ),
    idiom=("net[head](..)  # the other's .grad is None", "tx.step(.., live=one_head(head))"),
    control=dict(trainable=both_heads),
)
def live(net, x, y, *, trainable=one_head):
    """While two heads alternate, the inactive one does not move."""
    tx = optim.adam(0.1)

    def train(carry, head):
        net, state = carry
        grads = jaxgrad.grad(loss_of_head)(net, head, x, y)
        net, state = tx.step(grads, state, net, live=trainable(head))
        return (net, state), net

    heads = jnp.array([0, 1, 1, 0, 1, 0])
    _, path = lax.scan(train, (net, tx.init(net)), heads)
    return {"params": [jax.tree.map(lambda p, i=i: p[i], path) for i in range(len(heads))]}


def one_for_all(factory, groups, labels, **defaults):
    """Use the options of the weights for all parameters."""
    del labels
    return factory(**(defaults | groups["weight"]))


@case(
    source="S0-08",
    inputs=dict(net=NET, x=normal(3, 10), y=normal(3, 1)),
    idiom=("LambdaLR(optimizer, [f, g])", 'optim.param_groups(.., {"a": {"lr": f}, ..}, labels)'),
    control=dict(param_groups=one_for_all),
)
def group_schedules(net, x, y, *, param_groups=optim.param_groups):
    """Biases are not decayed, and their learning rate follows its own schedule."""
    fast, slow = (lambda t: 0.5**t), (lambda t: 1 / (1 + t))
    groups = {
        "weight": {"lr": lr_scheduler.lambda_lr(0.1, fast)},
        "bias": {"lr": lr_scheduler.lambda_lr(0.1, slow), "weight_decay": 0.0},
    }
    tx = param_groups(optim.adamw, groups, lambda path: path.split("/")[-1], weight_decay=0.1)
    return {"params": descend(tx, net, x, y, 4)}


def start_again(tx, params, state):
    del state
    return tx.init(params)


@case(
    source="S0-08",
    inputs=dict(net=NET, x=normal(3, 10), y=normal(3, 1)),
    idiom=("optimizer.add_param_group({..})", "optim.add_param_group(tx, params, state)"),
    control=dict(add_param_group=start_again),
)
def add_param_group(net, x, y, *, add_param_group=optim.add_param_group):
    """A group added during training starts with fresh state; the others keep their momentum."""
    tx = optim.param_groups(optim.sgd, [{"lr": 0.1}], {"l1": "frozen", "l2": 0}, momentum=0.9)
    state, path = tx.init(net), []
    for i in range(5):
        if i == 2:
            groups = [{"lr": 0.1}, {"lr": 0.01}]
            tx = optim.param_groups(optim.sgd, groups, {"l1": 1, "l2": 0}, momentum=0.9)
            state = add_param_group(tx, net, state)
        net, state = tx.step(jaxgrad.grad(loss_of)(net, x, y), state, net)
        path.append(net)
    return {"params": path}


def masked(factory, groups, labels, **defaults):
    """Freeze with `optax.masked`, which passes the raw gradient through where the mask is False."""
    mask = jax.tree.map(lambda label: label != "frozen", labels)
    return optax.masked(factory(**(defaults | groups[0])), mask)


@case(
    source="P134",
    inputs=dict(net=NET, x=normal(3, 10), y=normal(3, 1)),
    idiom=("net.l1.requires_grad_(False)", 'optim.param_groups(.., {"l1": "frozen", "l2": 0})'),
    control=dict(param_groups=masked),
)
def frozen(net, x, y, *, param_groups=optim.param_groups):
    """A frozen layer does not move; with `optax.masked` it would ascend its gradient."""
    labels = {"l1": "frozen", "l2": 0}
    tx = param_groups(optim.adamw, [{"lr": 0.1}], labels, weight_decay=0.1)
    return {"params": descend(tx, net, x, y, 3)}


def forget(tx, params, state_dict):
    del state_dict
    return tx.init(params)


def state_dict(exp_avg, exp_avg_sq):
    """Return torch's state of Adam after seven steps, in four of which L2 had no gradient."""
    steps = np.array([7, 7, 3, 3], np.float32)
    state = {
        i: {"step": step, "exp_avg": m, "exp_avg_sq": v}
        for i, (step, m, v) in enumerate(zip(steps, exp_avg, exp_avg_sq, strict=True))
    }
    names = ["l1.weight", "l1.bias", "l2.weight", "l2.bias"]
    group = {"params": [0, 1, 2, 3], "param_names": names}
    return {"state": state, "param_groups": [group]}


@case(
    source="P133",
    inputs=dict(
        net=NET,
        x=normal(3, 10),
        y=normal(3, 1),
        exp_avg=[normal(*shape) for shape in SHAPES],
        exp_avg_sq=[uniform(*shape, low=0.1) for shape in SHAPES],
    ),
    idiom=("optimizer.load_state_dict(saved)", "optim.state_from_torch(tx, params, saved)"),
    control=dict(state_from_torch=forget),
    modes=("eager",),  # a checkpoint is read outside jit
)
def resume(net, x, y, exp_avg, exp_avg_sq, *, state_from_torch=optim.state_from_torch):
    """Training continues from a torch optimizer's `state_dict`, including its step counts."""
    tx, path = optim.adam(0.1), []
    saved = state_dict(exp_avg, exp_avg_sq)
    state = state_from_torch(tx, net, saved)
    for _ in range(3):
        net, state = tx.step(jaxgrad.grad(loss_of)(net, x, y), state, net)
        path.append(net)
    return {"params": path, "step": state.step["l1"]["weight"].astype(jnp.int32)}
