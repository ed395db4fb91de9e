"""Averages of a model's weights over a training run."""

from torch import nn, optim
from torch.optim import swa_utils

from torch_ref._net import nested


class _Net(nn.Module):
    def __init__(self, w, running):
        super().__init__()
        self.w = nn.Parameter(w.clone())
        self.register_buffer("running", running.clone())


def _train(w, running, x, **kwargs):
    """Train for five steps; the buffer is a running mean of the data, as in a batch norm."""
    net = _Net(w, running)
    averaged = swa_utils.AveragedModel(net, **kwargs)
    optimizer = optim.SGD(net.parameters(), lr=0.5)
    path = []
    for batch in x:
        optimizer.zero_grad()
        (batch @ net.w).square().mean().backward()
        optimizer.step()
        running = 0.9 * running + 0.1 * batch.mean(0)
        net.running = running
        averaged.update_parameters(net)
        state = {name: value.clone() for name, value in averaged.module.state_dict().items()}
        path.append(nested(state.items()))
    return {"averages": path, "w": net.w.detach(), "n_averaged": averaged.n_averaged.int()}


def averaged_model(w, running, x):
    return _train(w, running, x)


def averaged_model_buffers(w, running, x):
    return _train(w, running, x, use_buffers=True)


def ema(w, running, x):
    return _train(w, running, x, avg_fn=swa_utils.get_ema_avg_fn(0.7))
