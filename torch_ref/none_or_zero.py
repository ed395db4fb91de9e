"""`None` ("there is no path") against zero ("there is a path, and it contributes nothing")."""

# pyright: reportIncompatibleMethodOverride=false
# torch documents `backward(ctx, grad)`, but its type stub has `*grad_outputs`.

import torch
from torch.utils.checkpoint import checkpoint

from torch_ref._net import error_of


def _terms(p, x, mask):
    """Return one term for each way to lose a gradient; `p["unused"]` is not used."""
    return (
        p["used"] * x
        + p["times_zero"] * x * 0
        + torch.where(mask, p["masked"] * x, x)
        + p["rounded"].floor() * x
        + p["detached"].detach() * x
        + (4 * p["as_integer"]).long() * x
        + (p["compared"] > 0) * x
    )


def none_or_zero(p, x, mask):
    for leaf in p.values():
        leaf.requires_grad_()
    x = x[0]
    terms = (
        p["used"] * x
        + p["times_zero"] * x * 0
        + torch.where(mask, p["masked"] * x, x)
        + p["rounded"].floor() * x
        + p["detached"].detach() * x
        + (4 * p["as_integer"]).long() * x
        + (p["compared"] > 0) * x
    )
    loss = terms.sum()
    loss.backward()
    return {"loss": loss, **{name: leaf.grad for name, leaf in p.items()}}


def through_loop(p, x, mask):
    for leaf in p.values():
        leaf.requires_grad_()
    h = torch.zeros_like(x[0])
    for row in x:
        h = torch.sin(h + _terms(p, row, mask))
    loss = h.sum()
    loss.backward()
    return {"loss": loss, **{name: leaf.grad for name, leaf in p.items()}}


def through_if(p, x, mask):
    for leaf in p.values():
        leaf.requires_grad_()
    h = _terms(p, x[0], mask) if x[0].sum() > 0 else _terms(p, x[1], mask)
    loss = h.square().sum()
    loss.backward()
    return {"loss": loss, **{name: leaf.grad for name, leaf in p.items()}}


def through_checkpoint(p, x, mask):
    calls = []

    def terms(*args):
        calls.append(args)
        return _terms(*args)

    for leaf in p.values():
        leaf.requires_grad_()
    loss = checkpoint(terms, p, x[0], mask, use_reentrant=False).square().sum()
    loss.backward()
    return {
        "loss": loss,
        **{name: leaf.grad for name, leaf in p.items()},
        "computed_again": len(calls) == 2,
    }


def through_vmap(p, x, mask):
    for leaf in p.values():
        leaf.requires_grad_()
    h = torch.func.vmap(_terms, in_dims=(None, 0, None))(p, x, mask)
    loss = h.square().sum()
    loss.backward()
    return {"loss": loss, **{name: leaf.grad for name, leaf in p.items()}}


def through_gradient(w, v, u, s):
    for leaf in (w, v, u, s):
        leaf.requires_grad_()
    loss = (w * v).sum() + (u**2).sum() + (v**2 * s).sum() * 0
    (grad,) = torch.autograd.grad(loss, v, create_graph=True)
    grad.sum().backward()
    return {"grad": grad, "w": w.grad, "v": v.grad, "u": u.grad, "s": s.grad}


def branch_not_taken(taken, other, x):
    taken.requires_grad_()
    other.requires_grad_()
    loss = (taken * x).sum() if x.square().sum() > 0 else (other * x).sum()
    loss.backward()
    return {"loss": loss, "taken": taken.grad, "other": other.grad}


class _Scale(torch.autograd.Function):
    @staticmethod
    def forward(ctx, x, w):
        ctx.save_for_backward(w)
        return x * w

    @staticmethod
    def backward(ctx, grad):
        (w,) = ctx.saved_tensors
        return grad * w, None


def rule_returns_none(x, w):
    x.requires_grad_()
    w.requires_grad_()
    loss = _Scale.apply(x, w).sum()
    loss.backward()
    return {"loss": loss, "x": x.grad, "w": w.grad}


def allow_unused(x, unused):
    x.requires_grad_()
    unused.requires_grad_()
    loss = torch.sin(x).sum()
    wanted = (x, unused)
    none = torch.autograd.grad(loss, wanted, retain_graph=True, allow_unused=True)
    zeros = torch.autograd.grad(loss, wanted, materialize_grads=True)
    return {"loss": loss, "allow_unused": none, "materialize_grads": zeros}


def unused_raises(x, unused):
    x.requires_grad_()
    unused.requires_grad_()
    loss = torch.sin(x).sum()
    refused = error_of(lambda: torch.autograd.grad(loss, (x, unused)))
    return {"loss": loss, "grad": refused}
