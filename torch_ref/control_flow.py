"""Programs whose graph depends on the data, and graphs that are built once or on every call."""

import time

import torch
from torch import nn

from torch_ref._net import Net, grads, linear, mse, raised


def data_dependent(net, x, y):
    fc1, fc2 = linear(net["fc1"]), linear(net["fc2"])
    model = nn.Sequential(fc1, nn.Tanh(), fc2)
    limit = x.abs().mean()
    losses, twice = [], []
    for sample, target in zip(x, y, strict=True):
        h = model(sample)
        again = sample.mean() > x.mean()
        if again:
            h = model(h)
        else:
            h.register_hook(lambda grad: grad.clamp(-limit, limit))
        losses.append(mse(h, target))
        twice.append(again)
    loss = torch.stack(losses).mean()
    loss.backward()
    return {"loss": loss, "twice": torch.stack(twice), "fc1": grads(fc1), "fc2": grads(fc2)}


def data_dependent_depth(w, x):
    w.requires_grad_()
    h, depth = x, 0
    while torch.linalg.vector_norm(h) > 0.2:
        h = torch.tanh(w @ h) / 2
        depth += 1
    loss = h.sum()
    loss.backward()
    return {"loss": loss, "depth": torch.tensor(depth), "w": w.grad}


def static_and_dynamic(net, x, y):
    model = Net(net)
    graphs = []

    def loss_of(x, y):
        return mse(model(x), y)

    def compiler(graph, example_inputs):
        del example_inputs
        graphs.append(graph)
        return graph.forward

    def compiled(fun):
        return torch.compile(fun, backend=compiler, dynamic=False, fullgraph=True)

    def value_and_grad(fun):
        model.zero_grad()
        loss = fun(x, y)
        loss.backward()
        return {"loss": loss, "grads": grads(model)}

    def seconds(fun):
        start = time.perf_counter()
        for _ in range(5):
            fun(x, y).backward()
        return (time.perf_counter() - start) / 5

    def branch(x):
        return x.sum() if x.sum() > 0 else -x.sum()

    torch.compiler.reset()
    losses = [loss_of(x, y) for _ in range(3)]
    dynamic = value_and_grad(loss_of)
    static = compiled(loss_of)
    for _ in range(3):
        static(x, y)
    once = len(graphs)
    static(x[:2], y[:2])
    return {
        "dynamic": dynamic,
        "static": value_and_grad(static),
        "built": {
            "dynamic_three_calls": len({loss.grad_fn for loss in losses}),
            "static_three_calls": once,
            "static_another_shape": len(graphs) - once,
        },
        "static_refuses_branch": raised(lambda: compiled(branch)(x)) is not None,
        "shown": {"seconds": {"dynamic": seconds(loss_of), "static": seconds(static)}},
    }
