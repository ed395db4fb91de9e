"""Gradients that are not the derivative: straight-through estimators, gradient reversal."""

# pyright: reportIncompatibleMethodOverride=false
# torch documents `backward(ctx, grad_output)`, but its type stub has `*grad_outputs`.

import torch
from torch import nn
from torch.autograd import Function

from torch_ref._net import grads, linear, mse


class Reverse(Function):
    """The identity, with the sign of its gradient flipped."""

    generate_vmap_rule = True

    @staticmethod
    def forward(x):
        return x.view_as(x)

    @staticmethod
    def setup_context(ctx, inputs, output):
        pass

    @staticmethod
    def backward(ctx, grad_output):
        return -grad_output

    @staticmethod
    def jvp(ctx, tangent):
        return -tangent


def forward_mode(x, tangent):
    value, out, *_ = torch.func.jvp(lambda x: Reverse.apply(x) ** 3, (x,), (tangent,))
    hessian = torch.func.hessian(lambda x: (Reverse.apply(x) ** 3).prod())(x)
    return {"value": value, "tangent": out, "hessian": hessian}


def gradient_reversal(net, x, label, domain):
    """Train a trunk for the label head and against the domain head (domain-adversarial
    training).
    """
    model = nn.ModuleDict({name: linear(layer) for name, layer in net.items()})
    h = torch.tanh(model["trunk"](x))
    loss = mse(model["label"](h), label) + mse(model["domain"](Reverse.apply(h)), domain)
    loss.backward()
    return {"loss": loss, "grads": grads(model)}


def gradient_reversal_twice(x):
    x.requires_grad_()
    (first,) = torch.autograd.grad((Reverse.apply(x) ** 2).sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x)
    return {"first": first, "second": second}


def straight_through(x, w):
    x.requires_grad_()
    rounded = x + (torch.round(x) - x).detach()
    loss = (w * rounded**2).sum()
    loss.backward()
    return {"loss": loss, "grad": x.grad}


class Round(Function):
    """Round in the forward pass, with the gradient of the identity."""

    @staticmethod
    def forward(ctx, x):
        return torch.round(x)

    @staticmethod
    def backward(ctx, grad_output):
        return grad_output


def straight_through_twice(x):
    x.requires_grad_()
    (first,) = torch.autograd.grad((Round.apply(x) ** 2).sum(), x, create_graph=True)
    (second,) = torch.autograd.grad(first.sum(), x)
    return {"first": first, "second": second}
