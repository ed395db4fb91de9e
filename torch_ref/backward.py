"""Calling `backward`: on which output, with respect to which inputs, and what `.grad` then
holds.
"""

import torch
from torch import nn

from torch_ref._net import error_of, grads, minimize, mlp, mse


def grad_of_intermediate(a, b):
    b.requires_grad_()
    c = a * b
    d = c.sum()
    (grad_c,) = torch.autograd.grad(d, c, retain_graph=True)
    d.backward()
    return {"d": d, "c.grad": c.grad, "autograd.grad(d, c)": grad_c, "b.grad": b.grad}


def chain_rule(a, b, d):
    for leaf in (a, b, d):
        leaf.requires_grad_()
    c = a * b
    e = c * d
    e.backward()
    return {"e": e, "a": a.grad, "b": b.grad, "c": c.grad, "d": d.grad}


def unbind(x):
    x.requires_grad_()
    b, c, d = x.unbind()
    e = b * c * d
    e.backward()
    return {"e": e, "x": x.grad}


def long_example(a, b, d, f, h):
    h.requires_grad_()
    c = a * b
    c.requires_grad = True
    e = d * c
    g = f * e
    i = g / h
    j = i + h
    k = j * i
    k.backward()
    return {"k": k, "a": a.grad, "b": b.grad, "c": c.grad, "h": h.grad}


def several_uses(g, h):
    in_division, in_sum = h.clone().requires_grad_(), h.clone().requires_grad_()
    h.requires_grad_()
    i = g / h
    ((i + h) * i).backward()
    i = g / in_division
    ((i + in_sum) * i).backward()
    return {"h": h.grad, "in g/h": in_division.grad, "in i+h": in_sum.grad}


def retain_grad(c, d, f, h):
    c.requires_grad_()
    h.requires_grad_()
    i = f * (d * c) / h
    i.retain_grad()
    j = i + h
    k = j * i
    k.backward()
    return {"k": k, "i": i.grad, "j": j.grad, "c": c.grad, "h": h.grad}


def cotangent(x, gradient):
    x.requires_grad_()
    y = x**2
    y.backward(gradient=gradient)
    return {"y": y, "x": x.grad}


def requires_grad(v1, v2):
    v1.requires_grad_()
    loss = ((v1 + v2) * 2).sum()
    loss.backward()
    return {"loss": loss, "v1": v1.grad, "v2": v2.grad}


def fgsm(net, x, labels, epsilon):
    model = mlp(net)
    x.requires_grad_()
    loss = nn.functional.cross_entropy(model(x), labels)
    loss.backward()
    adversarial = x + epsilon * x.grad.sign()
    with torch.no_grad():
        fooled = nn.functional.cross_entropy(model(adversarial), labels)
    return {"loss": loss, "x": x.grad, "adversarial": adversarial, "loss after": fooled}


def adjust_embedding(table, net, ids, labels, lr):
    embedding = nn.Embedding.from_pretrained(table)
    model = mlp(net).requires_grad_(False)
    vectors = embedding(ids).requires_grad_()
    optimizer = torch.optim.SGD([vectors], lr=lr)
    losses = []
    for _ in range(3):
        loss = nn.functional.cross_entropy(model(vectors), labels)
        losses.append(minimize(optimizer, loss))
    return {
        "losses": torch.stack(losses),
        "vectors": vectors,
        "vectors.grad": vectors.grad,
        "table.grad": embedding.weight.grad,
    }


def two_inputs(x, y):
    x.requires_grad_()
    y.requires_grad_()
    z = x**2 + y**3
    z.backward()
    return {"z": z, "x": x.grad, "y": y.grad}


def accumulate(x):
    x.requires_grad_()
    optimizer = torch.optim.SGD([x])

    def added():
        (x**2).backward()  # of shape (1,), which torch accepts
        return x.grad.clone()

    seen = {"none yet": x.grad, "once": added(), "twice": added()}
    x.grad.zero_()
    seen |= {"zero_()": x.grad.clone(), "after zero_()": added()}
    optimizer.zero_grad()
    return seen | {"zero_grad()": x.grad, "after zero_grad()": added()}


def simple_nn(net, x, y):
    model = mlp(net)
    loss = mse(model(x), y)
    loss.backward()
    grad = grads(model)
    return {"loss": loss, "l1": grad["0"], "l2": grad["2"]}


def non_scalar(x, gradient):
    x.requires_grad_()
    (by_sum,) = torch.autograd.grad((x**2).sum(), x)
    y = x**2
    y.backward(gradient)
    return {"y": y, "y.sum()": by_sum, "y.backward(gradient)": x.grad}


def non_scalar_without_cotangent(x):
    x.requires_grad_()
    y = x**2
    return {"y": y, "y.backward()": error_of(y.backward)}


def cubic(x):
    x.requires_grad_()
    y = x**3 - 4 * x + 2
    y.backward()
    return {"y": y, "x": x.grad}
