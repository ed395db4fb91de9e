"""Train a small network for eight or ten steps with each of torch's optimizers."""

import contextlib

import torch
from torch import optim

from torch_ref._net import Net, mse, params


def _train(net, x, y, make, steps=8):
    net = Net(net)
    optimizer = make(net.parameters())
    losses, path = [], []
    for _ in range(steps):
        optimizer.zero_grad()
        loss = mse(net(x), y)
        loss.backward()
        with _default_dtype(torch.float32):
            optimizer.step()
        losses.append(loss.detach())
        path.append(params(net))
    return {"losses": torch.stack(losses), "params": _stack(path)}


@contextlib.contextmanager
def _default_dtype(dtype):
    """Set torch's default dtype, in which NAdam and ASGD store the scalars of their state."""
    previous = torch.get_default_dtype()
    torch.set_default_dtype(dtype)
    try:
        yield
    finally:
        torch.set_default_dtype(previous)


def _stack(path):
    """Stack the values of every parameter over the steps."""
    return {
        layer: {name: torch.stack([step[layer][name] for step in path]) for name in leaves}
        for layer, leaves in path[0].items()
    }


def sgd_dampening(net, x, y):
    return _train(net, x, y, lambda p: optim.SGD(p, lr=0.1, momentum=0.9, dampening=0.5))


def adam_weight_decay(net, x, y):
    return _train(net, x, y, lambda p: optim.Adam(p, lr=0.1, weight_decay=0.1))


def adam_amsgrad(net, x, y):
    return _train(net, x, y, lambda p: optim.Adam(p, lr=0.1, amsgrad=True))


def adamw(net, x, y):
    return _train(net, x, y, lambda p: optim.AdamW(p, lr=0.1))


def adamax(net, x, y):
    return _train(net, x, y, lambda p: optim.Adamax(p, lr=0.1, weight_decay=0.1))


def nadam(net, x, y):
    return _train(net, x, y, lambda p: optim.NAdam(p, lr=0.1))


def radam(net, x, y):
    return _train(net, x, y, lambda p: optim.RAdam(p, lr=0.1, eps=0.01), steps=10)


def rmsprop(net, x, y):
    return _train(net, x, y, lambda p: optim.RMSprop(p, lr=0.01))


def rmsprop_eps(net, x, y):
    return _train(net, x, y, lambda p: optim.RMSprop(p, lr=0.01, alpha=0.9, eps=0.01))


def adagrad(net, x, y):
    return _train(net, x, y, lambda p: optim.Adagrad(p, lr=0.1))


def adadelta(net, x, y):
    return _train(net, x, y, lambda p: optim.Adadelta(p, lr=1.0, maximize=True))


def rprop(net, x, y):
    return _train(net, x, y, lambda p: optim.Rprop(p, lr=0.01))


def asgd(net, x, y):
    # On a GPU torch uses `foreach` by default, which computes the learning rate in float32.
    return _train(net, x, y, lambda p: optim.ASGD(p, lr=0.1, lambd=0.1, t0=2, foreach=False))
