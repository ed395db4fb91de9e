"""Corner cases of the autograd API: sizes, dtypes, buffers, tied weights, per-sample gradients."""

import torch
from torch import nn

from torch_ref._net import error_of, grads, mlp, mse, nested


def loss_of_size_1(w, x):
    w.requires_grad_()
    seen = {}
    for shape in ((), (1,), (1, 1)):
        loss = (x @ w).tanh().sum().reshape(shape)
        (grad,) = torch.autograd.grad(loss, w)
        seen[str(shape)] = {"loss": loss, "w": grad}
    return seen


def integer_input(w, n):
    w.requires_grad_()
    refused = error_of(n.requires_grad_)
    loss = (w * n).sum()
    loss.backward()
    return {"loss": loss, "w": w.grad, "n": n.grad, "n.requires_grad_()": refused}


class _Normalised(nn.Module):
    scale: torch.Tensor
    steps: torch.Tensor

    def __init__(self, weight, scale, steps):
        super().__init__()
        self.weight = nn.Parameter(weight)
        self.register_buffer("scale", scale)
        self.register_buffer("steps", steps)

    def forward(self, x):
        return x @ self.weight / (self.scale * self.steps)


def buffers(weight, scale, steps, x):
    module = _Normalised(weight, scale, steps)
    loss = module(x).square().sum()
    loss.backward()
    got = [(name, t.grad) for name, t in (*module.named_parameters(), *module.named_buffers())]
    return {"loss": loss, **nested(got)}


class _AutoEncoder(nn.Module):
    def __init__(self, encoder, decoder):
        super().__init__()
        self.encoder, self.decoder = encoder, decoder

    def forward(self, x):
        return torch.tanh(x @ self.encoder) @ self.decoder.T


def tied_weights(w, x):
    weight = nn.Parameter(w)
    tied = _AutoEncoder(weight, weight)
    loss = mse(tied(x), x)
    loss.backward()
    untied = _AutoEncoder(nn.Parameter(w.clone()), nn.Parameter(w.clone()))
    mse(untied(x), x).backward()
    return {
        "loss": loss,
        "parameters": [name for name, _ in tied.named_parameters()],
        "tied": grads(tied)["encoder"],
        "untied": grads(untied),
    }


def per_sample(net, x, y):
    model = mlp(net)

    def loss(params, x, y):
        return mse(torch.func.functional_call(model, params, x), y)

    params = dict(model.named_parameters())
    by_vmap = torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0, 0))(params, x, y)
    losses = [mse(model(xi), yi) for xi, yi in zip(x, y, strict=True)]
    by_loop = [torch.autograd.grad(loss, params["0.weight"])[0] for loss in losses]
    vmapped = nested(by_vmap.items())
    return {
        "vmap": {"l1": vmapped["0"], "l2": vmapped["2"]},
        "loop": {"l1": {"weight": torch.stack(by_loop)}},
    }


def per_sample_dropout(w, x, mask):
    del mask  # torch draws its own mask

    def loss(w, x):
        return nn.functional.dropout(w * x, p=0.5).sum()

    return torch.func.vmap(torch.func.grad(loss), in_dims=(None, 0))(w, x)
