"""Changing a tensor in place between forward and backward."""

import torch

from torch_ref._net import raised


def inplace_after_use(A, B):
    B.requires_grad_()
    C = A * B + B
    D = C.sum()
    A[0] = 0.1
    return {"D": D, "backward": raised(D.backward)}


def inplace_before_use(A, B):
    B.requires_grad_()
    A[0] = 0.1
    C = A * B + B
    D = C.sum()
    D.backward()
    return {"A": A, "D": D, "B": B.grad}


def inplace_saved(a, b, d):
    for leaf in (a, b, d):
        leaf.requires_grad_()
    c = a * b
    e = c * d
    c += 1
    return {"c": c, "e": e, "backward": raised(e.backward)}


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
    x.data.mul_(10)  # the version counter does not see it
    y.backward()
    return {"y": y, "x": x, "x.grad": x.grad}


class _Layer(torch.nn.Module):
    """Keeps its last activation on itself, as many programs do."""

    def __init__(self, weight):
        super().__init__()
        self.weight = torch.nn.Parameter(weight)
        self.activation = None

    def forward(self, x):
        self.activation = torch.tanh(x @ self.weight)
        return self.activation


def kept_activation(w, x):
    layer = _Layer(w)
    loss = layer(x).sum()
    loss.backward()
    return {"loss": loss, "w": layer.weight.grad, "twice": layer.activation * 2}


def leaked_activation(w, x):
    return kept_activation(w, x)
