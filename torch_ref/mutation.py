"""Changing a tensor in place between forward and backward."""

import torch

from torch_ref._net import error_of


def inplace_after_use(a, b):
    b.requires_grad_()
    c = a * b + b
    d = c.sum()
    a[0] = 0.1
    return {"d": d, "backward": error_of(d.backward)}


def inplace_before_use(a, b):
    b.requires_grad_()
    a[0] = 0.1
    c = a * b + b
    d = c.sum()
    d.backward()
    return {"a": a, "d": d, "b": b.grad}


def inplace_saved(a, b, d):
    for leaf in (a, b, d):
        leaf.requires_grad_()
    c = a * b
    e = c * d
    c += 1
    return {"c": c, "e": e, "backward": error_of(e.backward)}


def inplace_not_saved(a, b, d):
    for leaf in (a, b, d):
        leaf.requires_grad_()
    c = a * b
    e = c + d
    c += 1
    e.backward()
    return {"c": c, "e": e, "a": a.grad, "b": b.grad, "d": d.grad}


def data(x):
    x.requires_grad_()
    y = x**2
    x.data.mul_(10)  # the version counter does not notice it
    y.backward()
    return {"y": y, "x": x, "x.grad": x.grad}


class _Layer(torch.nn.Module):
    """A layer that stores its last activation as an attribute, as many programs do."""

    activation: torch.Tensor

    def __init__(self, weight):
        super().__init__()
        self.weight = torch.nn.Parameter(weight)

    def forward(self, x):
        self.activation = torch.tanh(x @ self.weight)
        return self.activation


def kept_activation(w, x):
    layer = _Layer(w)
    loss = layer(x).sum()
    loss.backward()
    return {"loss": loss, "w": layer.weight.grad, "twice": 2 * layer.activation}


def leaked_activation(w, x):
    return kept_activation(w, x)
