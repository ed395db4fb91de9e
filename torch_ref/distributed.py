"""Many processes: data parallel training, what it averages, and sharded parameters.

Each reference runs on every rank, with gloo, and the results of the ranks are stacked.
"""

from typing import Any

import torch
from torch import distributed, nn
from torch.distributed.algorithms.join import Join
from torch.distributed.device_mesh import init_device_mesh
from torch.distributed.fsdp import fully_shard
from torch.distributed.nn.functional import all_reduce
from torch.nn.parallel import DistributedDataParallel
from torch.nn.utils import clip_grad_norm_

from torch_ref._net import error_of, grads, linear, mse, nested, params
from torch_ref._ranks import ranks


class Mlp(nn.Module):
    """L1, ReLU, L2."""

    def __init__(self, net):
        super().__init__()
        self.l1, self.l2 = linear(net["l1"]), linear(net["l2"])

    def forward(self, x):
        return self.l2(torch.relu(self.l1(x)))


class Scale(nn.Module):
    """One parameter that multiplies the input."""

    def __init__(self, w):
        super().__init__()
        self.w = nn.Parameter(w)

    def forward(self, x):
        return self.w * x


class Branches(nn.Module):
    """One branch for each rank, and one that no rank uses."""

    def __init__(self, net):
        super().__init__()
        self.even, self.odd, self.spare = (linear(net[name]) for name in ("even", "odd", "spare"))

    def forward(self, x):
        return self.odd(x) if distributed.get_rank() % 2 else self.even(x)


class Normed(nn.Module):
    """A norm over the batch, then a layer."""

    def __init__(self, net, norm):
        super().__init__()
        self.norm, self.fc = norm, linear(net["fc"])
        self.norm.load_state_dict(net["norm"], strict=False)

    def forward(self, x):
        return self.fc(self.norm(x))


class SyncBatchNorm(nn.Module):
    """`nn.SyncBatchNorm` by its definition, because torch's own rejects CPU tensors."""

    def __init__(self, features):
        super().__init__()
        self.weight, self.bias = (nn.Parameter(torch.empty(features)) for _ in range(2))
        self.running_mean = nn.Buffer(torch.zeros(features))
        self.running_var = nn.Buffer(torch.ones(features))

    def forward(self, x):
        count = len(x) * distributed.get_world_size()
        mean = all_reduce(x.sum(0)) / count
        var = all_reduce(((x - mean) ** 2).sum(0)) / count
        with torch.no_grad():
            self.running_mean += 0.1 * (mean - self.running_mean)
            self.running_var += 0.1 * (var * count / (count - 1) - self.running_var)
        return (x - mean) * torch.rsqrt(var + 1e-5) * self.weight + self.bias


def _shard(rows):
    """Return this rank's rows of the batch."""
    return rows.chunk(distributed.get_world_size())[distributed.get_rank()]


@ranks(4)
def ddp(net, x, y):
    model = DistributedDataParallel(Mlp(net))
    loss = mse(model(_shard(x)), _shard(y))
    loss.backward()
    return {"loss": loss, "grads": grads(model.module)}


@ranks(4)
def ddp_sharding(net, x, y):
    model = DistributedDataParallel(Mlp(net))
    loss = mse(model(_shard(x)), _shard(y))
    loss.backward()
    distributed.all_reduce(loss.detach_())
    return {"loss": loss / distributed.get_world_size(), "grads": grads(model.module)}


@ranks(4)
def ddp_pmean_of_grads(w, x):
    model = DistributedDataParallel(Scale(w))
    (model(_shard(x)) ** 2).sum().backward()
    return {"grad": model.module.w.grad}


@ranks(4)
def sum_in_the_loss(w, x):
    w.requires_grad_()
    loss = all_reduce(((w * _shard(x)) ** 2).sum())
    loss.backward()
    return {"loss": loss, "grad": w.grad}


@ranks(2)
def no_sync(net, x, y):
    model = DistributedDataParallel(Mlp(net))
    (x1, x2), (y1, y2) = _shard(x).chunk(2), _shard(y).chunk(2)
    with model.no_sync():
        mse(model(x1), y1).backward()
    local = grads(model.module)
    mse(model(x2), y2).backward()
    return {"local": local, "grads": grads(model.module)}


@ranks(2)
def uneven_shards(w, x):
    rows = x.tensor_split([3])[distributed.get_rank()]
    share = len(rows) / len(x) * distributed.get_world_size()

    def gradient(weight):
        model = DistributedDataParallel(Scale(w))
        (weight * model(rows).mean()).backward()
        return model.module.w.grad

    return {"mean_of_means": gradient(1.0), "weighted": gradient(share)}


@ranks(2)
def join(net, x, y):
    model = DistributedDataParallel(Mlp(net))
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    batches = [0, 1, 2] if distributed.get_rank() == 0 else [3]
    with Join([model]):
        for batch in batches:
            optimizer.zero_grad()
            mse(model(x[batch]), y[batch]).backward()
            optimizer.step()
    return {"params": params(model.module)}


@ranks(2)
def find_unused_parameters(net, x, y):
    model = DistributedDataParallel(Branches(net), find_unused_parameters=True)
    mse(model(_shard(x)), _shard(y)).backward()
    return {"grads": grads(model.module)}


@ranks(2)
def unused_parameters(net, x, y):
    model = DistributedDataParallel(Branches(net))

    def step():
        loss = mse(model(_shard(x)), _shard(y))
        loss.backward()
        return loss

    loss = step()
    return {"loss": loss, "grads": grads(model.module)["spare"], "next_step": error_of(step)}


@ranks(4)
def batch_norm(net, x, y):
    model = DistributedDataParallel(Normed(net, nn.BatchNorm1d(6)))
    for rows, labels in zip(_shard(x).chunk(2), _shard(y).chunk(2), strict=True):
        model.zero_grad()
        mse(model(rows), labels).backward()
    norm = model.module.norm
    return {"grads": grads(model.module), "mean": norm.running_mean, "var": norm.running_var}


@ranks(4)
def sync_batch_norm(net, x, y):
    model = DistributedDataParallel(Normed(net, SyncBatchNorm(6)))
    mse(model(_shard(x)), _shard(y)).backward()
    norm = model.module.norm
    return {"grads": grads(model.module), "mean": norm.running_mean, "var": norm.running_var}


@ranks(4)
def sync_batch_norm_sharding(net, x, y):
    model = DistributedDataParallel(Normed(net, SyncBatchNorm(6)))
    mse(model(_shard(x)), _shard(y)).backward()
    norm = model.module.norm
    return {"grads": grads(model.module), "mean": norm.running_mean, "var": norm.running_var}


@ranks(2)
def _torchs_sync_batch_norm(x):
    return error_of(lambda: nn.SyncBatchNorm(x.shape[1])(x))


def _clip_sharded(net, x, y):
    """Take one clipped step of a sharded model and gather its tensors."""
    mesh = init_device_mesh("cpu", (distributed.get_world_size(),))
    model = Mlp(net)
    for module in (model.l1, model.l2, model):
        fully_shard(module, mesh=mesh)
    optimizer = torch.optim.SGD(model.parameters(), lr=0.1)
    mse(model(_shard(x)), _shard(y)).backward()
    norm: Any = clip_grad_norm_(model.parameters(), max_norm=0.1)  # a DTensor, like the parameters
    named: list[tuple[str, Any]] = list(model.named_parameters())
    clipped = nested((name, p.grad.full_tensor()) for name, p in named)
    optimizer.step()
    stepped = nested((name, p.full_tensor()) for name, p in named)
    return {"norm": norm.full_tensor(), "grads": clipped, "params": stepped}


@ranks(4)
def clip_sharded(net, x, y):
    return _clip_sharded(net, x, y)


@ranks(4)
def clip_sharding(net, x, y):
    return _clip_sharded(net, x, y)
