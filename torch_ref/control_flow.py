"""Programs whose graph depends on the data, and graphs that are built once or on every call."""

import time

import torch
from torch import nn

from torch_ref._net import Net, error_of, grads, linear, mse


def data_dependent(net, x, y):
    fc1, fc2 = linear(net["fc1"]), linear(net["fc2"])
    model = nn.Sequential(fc1, nn.Tanh(), fc2)
    limit, twice, losses = x.abs().mean(), x.mean(1) > x.mean(), []
    for sample, target, again in zip(x, y, twice, strict=True):
        h = model(sample)
        if again:
            h = model(h)
        else:
            h.register_hook(lambda grad: grad.clamp(-limit, limit))
        losses.append(mse(h, target))
    loss = torch.stack(losses).mean()
    loss.backward()
    return {"loss": loss, "twice": twice, "fc1": grads(fc1), "fc2": grads(fc2)}


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
    model, graphs = Net(net), []

    def dynamic(x, y):
        return mse(model(x), y)

    static = torch.compile(dynamic, backend=_recorder(graphs), dynamic=False, fullgraph=True)
    built = {
        "dynamic_three_calls": len({dynamic(x, y).grad_fn for _ in range(3)}),
        "static_three_calls": _added(graphs, lambda: [static(x, y) for _ in range(3)]),
        "static_another_shape": _added(graphs, lambda: static(x[:2], y[:2])),
    }
    ways = {"dynamic": dynamic, "static": static}
    values = {name: _value_and_grad(model, fun, x, y) for name, fun in ways.items()}
    return {
        "dynamic": values["dynamic"],
        "static": values["static"],
        "built": built,
        "static_refuses_branch": _refuses_branch(x),
        "shown": {"seconds": {name: _seconds(fun, x, y) for name, fun in ways.items()}},
    }


def _recorder(graphs):
    """Return a compiler for `torch.compile` that records its graphs and runs them unchanged."""
    torch.compiler.reset()  # forget what was compiled before

    def compiler(graph, example_inputs):
        del example_inputs
        graphs.append(graph)
        return graph.forward

    return compiler


def _added(graphs, calls):
    """Return the number of graphs that these calls add."""
    before = len(graphs)
    calls()
    return len(graphs) - before


def _refuses_branch(x):
    """Whether a static graph refuses a Python `if` on a value."""

    def branch(x):
        return x.sum() if x.sum() > 0 else -x.sum()

    return error_of(lambda: torch.compile(branch, backend="eager", fullgraph=True)(x)) is not None


def _value_and_grad(model, fun, x, y):
    model.zero_grad()
    loss = fun(x, y)
    loss.backward()
    return {"loss": loss, "grads": grads(model)}


def _seconds(fun, x, y):
    start = time.perf_counter()
    for _ in range(5):
        fun(x, y).backward()
    return (time.perf_counter() - start) / 5
