"""Modules that read points and rays in space."""

from __future__ import annotations

import dataclasses

import torch
import torch.nn.functional as F
from torch import nn

from parity_tests.port_collection.entry import Entry, normal


class TNet(nn.Module):
    def __init__(self, k=3):
        super().__init__()
        self.conv1, self.conv2 = nn.Conv1d(k, 4, 1), nn.Conv1d(4, 6, 1)
        self.fc = nn.Linear(6, k * k)
        self.bn1, self.bn2 = nn.BatchNorm1d(4), nn.BatchNorm1d(6)
        self.k = k

    def forward(self, x):
        batchsize = x.size()[0]
        x = F.relu(self.bn1(self.conv1(x)))
        x = F.relu(self.bn2(self.conv2(x)))
        x = torch.max(x, 2, keepdim=True)[0]
        x = self.fc(x.view(-1, 6))
        iden = torch.eye(self.k).flatten().view(1, self.k**2).repeat(batchsize, 1)
        return (x + iden).view(-1, self.k, self.k)


class PointNet(nn.Module):
    def __init__(self, classes=4):
        super().__init__()
        self.stn = TNet(3)
        self.conv, self.bn = nn.Conv1d(3, 5, 1), nn.BatchNorm1d(5)
        self.head = nn.Linear(5, classes)

    def forward(self, points):
        trans = self.stn(points)
        x = torch.bmm(points.transpose(2, 1), trans).transpose(2, 1)
        x = self.bn(self.conv(x)).max(dim=-1).values
        eye = torch.eye(3)[None]
        reg = torch.mean(torch.norm(torch.bmm(trans, trans.transpose(2, 1)) - eye, dim=(1, 2)))
        return F.log_softmax(self.head(x), dim=1), reg


@dataclasses.dataclass
class NeRFConfig:
    depth: int = 3
    width: int = 6
    frequencies: int = 2
    skips: tuple[int, ...] = (1,)
    near: float = 2.0
    far: float = 6.0


class NeRF(nn.Module):
    """A radiance field and the volume rendering of its rays."""

    def __init__(self, cfg: NeRFConfig | None = None):
        super().__init__()
        self.cfg = cfg = cfg or NeRFConfig()
        self.pos_dim = 3 + 6 * cfg.frequencies
        sizes = [self.pos_dim] + [
            cfg.width + (self.pos_dim if i in cfg.skips else 0) for i in range(cfg.depth - 1)
        ]
        self.pts_linears = nn.ModuleList([nn.Linear(s, cfg.width) for s in sizes])
        self.alpha_linear, self.rgb_linear = nn.Linear(cfg.width, 1), nn.Linear(cfg.width, 3)

    def embed(self, x):
        out = [x]
        for freq in 2.0 ** torch.linspace(0.0, self.cfg.frequencies - 1, self.cfg.frequencies):
            for fn in (torch.sin, torch.cos):
                out.append(fn(x * freq))
        return torch.cat(out, -1)

    def forward(self, rays_o, rays_d, t_vals):
        z_vals = self.cfg.near * (1.0 - t_vals) + self.cfg.far * t_vals
        pts = rays_o[..., None, :] + rays_d[..., None, :] * z_vals[..., :, None]
        embedded = h = self.embed(pts)
        for i, layer in enumerate(self.pts_linears):
            h = F.relu(layer(h))
            if i in self.cfg.skips:
                h = torch.cat([embedded, h], -1)
        sigma, rgb = self.alpha_linear(h)[..., 0], torch.sigmoid(self.rgb_linear(h))
        dists = z_vals[..., 1:] - z_vals[..., :-1]
        dists = torch.cat([dists, torch.full_like(dists[..., :1], 1e10)], -1)
        alpha = 1.0 - torch.exp(-F.relu(sigma) * dists)
        shifted = torch.cat([torch.ones_like(alpha[..., :1]), 1.0 - alpha + 1e-10], -1)
        weights = alpha * torch.cumprod(shifted, -1)[..., :-1]
        return torch.sum(weights[..., None] * rgb, -2), weights.sum(-1)


MODULES = {
    "pointnet": Entry(PointNet, (normal(3, 3, 7),), (normal(2, 3, 5),)),
    "nerf": Entry(
        NeRF, (normal(3, 3), normal(3, 3, seed=1), normal(3, 4, seed=2)),
        (normal(2, 3), normal(2, 3, seed=1), normal(2, 5, seed=2)),
    ),
}  # fmt: skip
