"""Gradients of gradients: create_graph, penalties, Hessian-vector products, per-sample
gradients.
"""

import torch
from torch import nn
from torch.func import functional_call, grad, vmap

from torch_ref._net import Net, error_of, grads, linear, mse, nested


class Critic(nn.Module):
    """Score a sample with three layers."""

    def __init__(self, params, activation):
        super().__init__()
        self.l1, self.l2, self.l3 = (linear(params[name]) for name in ("l1", "l2", "l3"))
        self.activation = activation

    def forward(self, x):
        h = self.activation(self.l1(x))
        return self.l3(self.activation(self.l2(h)))


def _penalty(critic, real, fake, alpha):
    """Return how far the critic's slope is from 1 at points between real and fake samples."""
    between = (alpha * real + (1 - alpha) * fake).requires_grad_()
    scores = critic(between)
    (slope,) = torch.autograd.grad(
        scores, between, grad_outputs=torch.ones_like(scores), create_graph=True
    )
    return ((slope.norm(2, dim=1) - 1) ** 2).mean()


def gradient_penalty(net, real, fake, alpha):
    critic = Critic(net, nn.LeakyReLU(0.2))
    gp = _penalty(critic, real, fake, alpha)
    loss = critic(fake).mean() - critic(real).mean() + 10 * gp
    loss.backward()
    return {"loss": loss, "penalty": gp, "grads": grads(critic)}


def gradient_penalty_alone(net, real, fake, alpha):
    critic = Critic(net, nn.Softplus())
    gp = _penalty(critic, real, fake, alpha)
    gp.backward()
    return {"penalty": gp, "grads": grads(critic)}


def gradient_penalty_flat(w, x):
    x.requires_grad_()
    w.requires_grad_()
    (slope,) = torch.autograd.grad((x @ w).sum(), x, create_graph=True)
    gp = ((slope.norm(2, dim=1) - 1) ** 2).mean()
    gp.backward()
    return {"penalty": gp, "grad": w.grad}


def create_graph(x):
    x.requires_grad_()
    y = x**3
    (first,) = torch.autograd.grad(y, x, create_graph=True)
    (second,) = torch.autograd.grad(first, x, create_graph=True)
    (third,) = torch.autograd.grad(second, x)
    return {"value": y, "first": first, "second": second, "third": third}


def no_create_graph(x):
    x.requires_grad_()
    (first,) = torch.autograd.grad(x**3, x)
    second = error_of(lambda: torch.autograd.grad(first, x))
    return {"first": first, "second": second}


def backward_twice(x):
    x.requires_grad_()
    (x**3).sum().backward(create_graph=True)
    first = x.grad.clone()
    x.grad.sum().backward()  # adds to the same .grad that it differentiates
    return {"first": first, "grad": x.grad}


def detached_gradient(x):
    x.requires_grad_()
    (slope,) = torch.autograd.grad((x**3).sum(), x, create_graph=True)
    loss = (slope.detach() * x.sin()).sum() + (slope**2).sum()
    loss.backward()
    return {"loss": loss, "grad": x.grad}


def hessian(net, x):
    model = Net(net)
    return torch.func.hessian(lambda x: torch.tanh(model(x)).sum())(x)


def hvp(net, v, x, y):
    model = Net(net)
    params = dict(model.named_parameters())
    loss = mse(torch.tanh(model(x)), y)
    slopes = torch.autograd.grad(loss, list(params.values()), create_graph=True)
    vectors = [v[layer][kind] for layer, kind in (name.split(".") for name in params)]
    product = torch.autograd.grad(slopes, list(params.values()), grad_outputs=vectors)
    return {"loss": loss, "hvp": nested(zip(params, product, strict=True))}


def per_sample_gradients(net, x, y):
    model = Net(net)
    params = {name: p.detach() for name, p in model.named_parameters()}

    def loss(params, x, y):
        return mse(functional_call(model, params, (x,)), y)

    grads = vmap(grad(loss), in_dims=(None, 0, 0))(params, x, y)
    return {"grads": nested(grads.items())}
