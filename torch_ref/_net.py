"""The two-layer network that several references share, and functions that read its gradients."""

from collections.abc import Mapping
from typing import Any

from torch import Tensor, nn, optim


Params = Mapping[str, Any]


def linear(params: Params) -> nn.Linear:
    """Return an `nn.Linear` with these parameters."""
    n_out, n_in = params["weight"].shape
    layer = nn.Linear(n_in, n_out)
    layer.load_state_dict(dict(params))
    return layer


class Net(nn.Module):
    """Two linear layers: input -> L1 -> L2."""

    def __init__(self, params: Params):
        super().__init__()
        self.l1 = linear(params["l1"])
        self.l2 = linear(params["l2"])

    def forward(self, x: Tensor) -> Tensor:
        return self.l2(self.l1(x))


def mse(out: Tensor, y: Tensor) -> Tensor:
    return nn.functional.mse_loss(out, y)


def nested(named: Any) -> dict[str, Any]:
    """Turn `{"l1.weight": w}` into `{"l1": {"weight": w}}`."""
    tree: dict[str, Any] = {}
    for name, value in named:
        *path, last = name.split(".")
        here = tree
        for key in path:
            here = here.setdefault(key, {})
        here[last] = value
    return tree


def grads(module: nn.Module) -> dict[str, Any]:
    """Return a copy of every parameter's `.grad`, or None if it has none."""
    return nested(
        (name, None if p.grad is None else p.grad.clone()) for name, p in module.named_parameters()
    )


def params(module: nn.Module) -> dict[str, Any]:
    """Return a copy of every parameter's value."""
    return nested((name, p.detach().clone()) for name, p in module.named_parameters())


def minimize(optimizer: optim.Optimizer, loss: Tensor) -> Tensor:
    """Take one step of an optimizer with the gradients of a loss, and return the loss."""
    optimizer.zero_grad()
    loss.backward()
    optimizer.step()
    return loss.detach()


def error_of(program: Any) -> Exception | None:
    """Run a program and return the exception that it raises, as an observation."""
    try:
        program()
    except Exception as error:
        return error
    return None


def mlp(params: Params) -> nn.Sequential:
    """Apply L1, ReLU and L2."""
    return nn.Sequential(linear(params["l1"]), nn.ReLU(), linear(params["l2"]))
