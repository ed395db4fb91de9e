"""Each of torch's optimizers; the control is the obvious optax choice in its place."""

import jax.numpy as jnp
import optax
from jax import lax

import jaxgrad
from jaxgrad import optim
from parity_tests.case import case
from parity_tests.cases._net import NET, forward, mse
from parity_tests.inputs import normal


INPUTS = dict(net=NET, x=normal(6, 10), y=normal(6, 1))


def train(net, x, y, tx, steps=8):
    """Return the losses and the parameters after every step."""

    def step(carry, _):
        net, state = carry
        loss, grads = jaxgrad.value_and_grad(lambda net: mse(forward(net, x), y))(net)
        updates, state = tx.update(grads, state, net)
        net = optax.apply_updates(net, updates)
        return (net, state), (loss, net)

    _, (losses, path) = lax.scan(step, (net, tx.init(net)), jnp.arange(steps))
    return {"losses": losses, "params": path}


def without_dampening(lr, momentum, dampening):
    del dampening  # optax has no such argument
    return optax.sgd(lr, momentum)


@case(
    source="P127",
    inputs=INPUTS,
    idiom=("SGD(p, .1, momentum=.9, dampening=.5)", "optim.sgd(.1, momentum=.9, dampening=.5)"),
    control=dict(sgd=without_dampening),
)
def sgd_dampening(net, x, y, *, sgd=optim.sgd):
    """Dampening scales every gradient that enters the momentum except the first."""
    return train(net, x, y, sgd(0.1, momentum=0.9, dampening=0.5))


@case(
    source="P122",
    inputs=INPUTS,
    idiom=("Adam(p, lr, weight_decay=.1)", "optim.adam(lr, weight_decay=.1)"),
    control=dict(adam=optax.adamw),
)
def adam_weight_decay(net, x, y, *, adam=optim.adam):
    """Adam adds weight decay to the gradient before computing the moments; AdamW does not."""
    return train(net, x, y, adam(0.1, weight_decay=0.1))


def maximum_after_correction(lr, amsgrad):
    del amsgrad
    return optax.amsgrad(lr)


@case(
    source="P123",
    inputs=INPUTS,
    idiom=("Adam(p, lr, amsgrad=True)", "optim.adam(lr, amsgrad=True)"),
    control=dict(adam=maximum_after_correction),
)
def adam_amsgrad(net, x, y, *, adam=optim.adam):
    """AMSGrad takes the maximum of second moments before bias correction; optax takes it after."""
    return train(net, x, y, adam(0.1, amsgrad=True))


@case(
    source="P121",
    inputs=INPUTS,
    idiom=("AdamW(p, lr)", "optim.adamw(lr)"),
    control=dict(adamw=optax.adamw),
)
def adamw(net, x, y, *, adamw=optim.adamw):
    """AdamW's default weight decay is 0.01; that of `optax.adamw` is 0.0001."""
    return train(net, x, y, adamw(0.1))


@case(
    source="P122",
    inputs=INPUTS,
    idiom=("Adamax(p, lr, weight_decay=.1)", "optim.adamax(lr, weight_decay=.1)"),
    control=dict(adamax=optax.adamaxw),
)
def adamax(net, x, y, *, adamax=optim.adamax):
    """Adamax adds weight decay to the gradient; `optax.adamaxw` decays the parameters."""
    return train(net, x, y, adamax(0.1, weight_decay=0.1))


@case(
    source="P124",
    inputs=INPUTS,
    idiom=("NAdam(p, lr)", "optim.nadam(lr)"),
    control=dict(nadam=optax.nadam),
)
def nadam(net, x, y, *, nadam=optim.nadam):
    """NAdam's momentum grows slowly from half of beta1; optax uses beta1 from the start."""
    return train(net, x, y, nadam(0.1))


@case(
    source="P125",
    inputs=INPUTS,
    idiom=("RAdam(p, lr, eps=.01)", "optim.radam(lr, eps=.01)"),
    control=dict(radam=optax.radam),
)
def radam(net, x, y, *, radam=optim.radam):
    """RAdam adds eps before the second moment's bias correction; optax adds it after."""
    return train(net, x, y, radam(0.1, eps=0.01), steps=10)


@case(
    source="P119",
    inputs=INPUTS,
    idiom=("RMSprop(p, lr)", "optim.rmsprop(lr)"),
    control=dict(rmsprop=optax.rmsprop),
)
def rmsprop(net, x, y, *, rmsprop=optim.rmsprop):
    """RMSprop's default decay rate is 0.99; that of `optax.rmsprop` is 0.9."""
    return train(net, x, y, rmsprop(0.01))


def eps_in_sqrt(lr, alpha, eps):
    return optax.rmsprop(lr, decay=alpha, eps=eps)


@case(
    source="P118",
    inputs=INPUTS,
    idiom=("RMSprop(p, lr, alpha=.9, eps=.01)", "optim.rmsprop(lr, alpha=.9, eps=.01)"),
    control=dict(rmsprop=eps_in_sqrt),
)
def rmsprop_eps(net, x, y, *, rmsprop=optim.rmsprop):
    """RMSprop adds eps outside the square root; `optax.rmsprop` adds it inside."""
    return train(net, x, y, rmsprop(0.01, alpha=0.9, eps=0.01))


@case(
    source="P120",
    inputs=INPUTS,
    idiom=("Adagrad(p, lr)", "optim.adagrad(lr)"),
    control=dict(adagrad=optax.adagrad),
)
def adagrad(net, x, y, *, adagrad=optim.adagrad):
    """Adagrad's sum of squares starts at 0, so the size of the first step is the learning rate."""
    return train(net, x, y, adagrad(0.1))


def descent(lr, maximize):
    del maximize  # optax has no such argument
    return optax.adadelta(lr)


@case(
    source="P128",
    inputs=INPUTS,
    idiom=("Adadelta(p, lr=1., maximize=True)", "optim.adadelta(1., maximize=True)"),
    control=dict(adadelta=descent),
)
def adadelta(net, x, y, *, adadelta=optim.adadelta):
    """With `maximize=True` an optimizer ascends the gradient; optax has no such option."""
    return train(net, x, y, adadelta(1.0, maximize=True))


@case(
    source="P126",
    inputs=INPUTS,
    idiom=("Rprop(p, lr)", "optim.rprop(lr)"),
    control=dict(rprop=optax.rprop),
)
def rprop(net, x, y, *, rprop=optim.rprop):
    """Rprop's first step has the size of the learning rate; optax's first step is zero."""
    return train(net, x, y, rprop(0.01))


def constant_rate(lr, lambd, t0):
    del lambd, t0
    return optax.sgd(lr)


@case(
    source="P128",
    inputs=INPUTS,
    idiom=("ASGD(p, lr, lambd=.1, t0=2)", "optim.asgd(lr, lambd=.1, t0=2)"),
    control=dict(asgd=constant_rate),
)
def asgd(net, x, y, *, asgd=optim.asgd):
    """ASGD decays the parameters by `lambd` and lowers its learning rate over time."""
    return train(net, x, y, asgd(0.1, lambd=0.1, t0=2))
