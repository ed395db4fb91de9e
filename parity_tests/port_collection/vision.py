"""Modules that read images and points."""

from __future__ import annotations

import math
from functools import partial

import torch
import torch.nn.functional as F
from torch import Tensor, nn

from parity_tests.port_collection.entry import Entry, normal


def window_partition(x, window_size):
    """(B, H, W, C) -> (B * windows, window_size ** 2, C)"""
    B, H, W, C = x.shape
    x = x.view(B, H // window_size, window_size, W // window_size, window_size, C)
    return x.permute(0, 1, 3, 2, 4, 5).contiguous().view(-1, window_size * window_size, C)


def window_reverse(windows, window_size, H, W):
    B = int(windows.shape[0] / (H * W / window_size / window_size))
    x = windows.view(B, H // window_size, W // window_size, window_size, window_size, -1)
    return x.permute(0, 1, 3, 2, 4, 5).contiguous().view(B, H, W, -1)


class WindowAttention(nn.Module):
    relative_position_index: Tensor

    def __init__(self, dim, window_size, num_heads):
        super().__init__()
        self.num_heads = num_heads
        self.scale = (dim // num_heads) ** -0.5
        self.relative_position_bias_table = nn.Parameter(
            0.1 * torch.randn((2 * window_size - 1) ** 2, num_heads)
        )
        coords = torch.stack(torch.meshgrid([torch.arange(window_size)] * 2, indexing="ij"))
        relative = coords.flatten(1)[:, :, None] - coords.flatten(1)[:, None, :] + window_size - 1
        self.register_buffer(
            "relative_position_index", relative[0] * (2 * window_size - 1) + relative[1]
        )
        self.qkv = nn.Linear(dim, dim * 3, bias=True)
        self.proj = nn.Linear(dim, dim)

    def forward(self, x):
        B_, N, C = x.shape
        qkv = self.qkv(x).reshape(B_, N, 3, self.num_heads, C // self.num_heads)
        q, k, v = qkv.permute(2, 0, 3, 1, 4).unbind(0)
        attn = (q * self.scale) @ k.transpose(-2, -1)
        bias = self.relative_position_bias_table[self.relative_position_index.view(-1)]
        bias = bias.view(N, N, -1).permute(2, 0, 1).contiguous()
        attn = (attn + bias.unsqueeze(0)).softmax(dim=-1)
        return self.proj((attn @ v).transpose(1, 2).reshape(B_, N, C))


class SwinBlock(nn.Module):
    """Shifted windows over a map whose size is a multiple of the window."""

    def __init__(self, dim=4, num_heads=2, window_size=2, shift_size=1):
        super().__init__()
        self.window_size, self.shift_size = window_size, shift_size
        self.norm1, self.norm2 = nn.LayerNorm(dim), nn.LayerNorm(dim)
        self.attn = WindowAttention(dim, window_size, num_heads)
        self.mlp = nn.Sequential(nn.Linear(dim, 2 * dim), nn.GELU(), nn.Linear(2 * dim, dim))

    def forward(self, x):
        _, H, W, _ = x.shape
        shortcut = x
        shifted = torch.roll(self.norm1(x), (-self.shift_size, -self.shift_size), dims=(1, 2))
        windows = self.attn(window_partition(shifted, self.window_size))
        shifted = window_reverse(windows, self.window_size, H, W)
        x = shortcut + torch.roll(shifted, (self.shift_size, self.shift_size), dims=(1, 2))
        return x + self.mlp(self.norm2(x))


class SqueezeExcite(nn.Module):
    def __init__(self, channels, reduction=2):
        super().__init__()
        self.fc = nn.Sequential(
            nn.AdaptiveAvgPool2d(1),
            nn.Conv2d(channels, channels // reduction, 1),
            nn.ReLU(inplace=True),
            nn.Conv2d(channels // reduction, channels, 1),
            nn.Hardsigmoid(),
        )

    def forward(self, x):
        return x * self.fc(x)


class SENet(nn.Sequential):
    def __init__(self, channels=4):
        super().__init__(
            nn.Conv2d(3, channels, 3, stride=2, padding=1, bias=False),
            nn.BatchNorm2d(channels),
            nn.Hardswish(),
            SqueezeExcite(channels),
            nn.MaxPool2d(2),
            nn.Flatten(),
            nn.LazyLinear(5),
        )
        self(torch.zeros(2, 3, 8, 8))


class MixerBlock(nn.Module):
    def __init__(self, patches, dim, dropout=0.0):
        super().__init__()
        conv, linear = partial(nn.Conv1d, kernel_size=1), nn.Linear

        def feed_forward(size, expansion, dense):
            inner = int(size * expansion)
            return nn.Sequential(
                dense(size, inner), nn.GELU(), nn.Dropout(dropout), dense(inner, size)
            )

        self.token_mix = feed_forward(patches, 2, conv)
        self.channel_mix = feed_forward(dim, 0.5, linear)
        self.norms = nn.ModuleDict({"token": nn.LayerNorm(dim), "channel": nn.LayerNorm(dim)})

    def forward(self, x: Tensor) -> Tensor:
        x = x + self.token_mix(self.norms["token"](x))
        return x + self.channel_mix(self.norms["channel"](x))


class MLPMixer(nn.Module):
    def __init__(self, size=8, patch=4, dim=4, depth=2, classes=3):
        super().__init__()
        self.patch = patch
        self.embed = nn.Linear(patch**2 * 3, dim)
        self.blocks = nn.ModuleList([MixerBlock((size // patch) ** 2, dim) for _ in range(depth)])
        self.norm, self.head = nn.LayerNorm(dim), nn.Linear(dim, classes)

    def forward(self, images):
        # b c (h p) (w p) -> b (h w) (p p c)
        patches = images.unfold(2, self.patch, self.patch).unfold(3, self.patch, self.patch)
        x = self.embed(patches.permute(0, 2, 3, 4, 5, 1).flatten(3).flatten(1, 2))
        for block in self.blocks:
            x = block(x)
        return self.head(self.norm(x).mean(dim=1))


def squash(s, dim=-1):
    squared = torch.sum(s**2, dim=dim, keepdim=True)
    return squared / (1 + squared) * s / (torch.sqrt(squared) + 1e-8)


class DigitCaps(nn.Module):
    def __init__(self, in_caps=5, in_dim=3, num_caps=4, dim_caps=2, num_routing=3):
        super().__init__()
        self.num_caps, self.num_routing = num_caps, num_routing
        self.W = nn.Parameter(0.3 * torch.randn(1, num_caps, in_caps, dim_caps, in_dim))

    def forward(self, x):
        batch_size = x.size(0)
        x = x.unsqueeze(1).unsqueeze(4)
        u_hat = torch.matmul(self.W, x).squeeze(-1)
        # detach u_hat during routing iterations to prevent gradients from flowing
        temp_u_hat = u_hat.detach()
        b = torch.zeros(batch_size, self.num_caps, x.size(2), 1)
        for _ in range(self.num_routing - 1):
            c = b.softmax(dim=1)
            s = (c * temp_u_hat).sum(dim=2)
            v = squash(s)
            b += torch.matmul(temp_u_hat, v.unsqueeze(-1))
        c = b.softmax(dim=1)
        return squash((c * u_hat).sum(dim=2))


class Down(nn.Module):
    def __init__(self, cin, cout, normalize=True, dropout=0.0):
        super().__init__()
        layers: list[nn.Module] = [nn.Conv2d(cin, cout, 4, 2, 1, bias=False)]
        if normalize:
            layers.append(nn.InstanceNorm2d(cout))
        layers.append(nn.LeakyReLU(0.2))
        if dropout:
            layers.append(nn.Dropout(dropout))
        self.model = nn.Sequential(*layers)

    def forward(self, x):
        return self.model(x)


class Up(nn.Module):
    def __init__(self, cin, cout):
        super().__init__()
        self.model = nn.Sequential(
            nn.ConvTranspose2d(cin, cout, 4, 2, 1, bias=False),
            nn.InstanceNorm2d(cout),
            nn.ReLU(inplace=True),
        )

    def forward(self, x, skip_input):
        return torch.cat((self.model(x), skip_input), 1)


class Pix2PixGenerator(nn.Module):
    def __init__(self):
        super().__init__()
        self.down1 = Down(3, 2, normalize=False)
        self.down2 = Down(2, 4)
        self.down3 = Down(4, 4, dropout=0.5)
        self.up1, self.up2 = Up(4, 4), Up(8, 2)
        self.final = nn.Sequential(
            nn.Upsample(scale_factor=2), nn.ZeroPad2d((1, 0, 1, 0)), nn.Conv2d(4, 3, 4, padding=1),
            nn.Tanh(),
        )  # fmt: skip

    def forward(self, x):
        d1 = self.down1(x)
        d2 = self.down2(d1)
        d3 = self.down3(d2)
        u1 = self.up1(d3, d2)
        return self.final(self.up2(u1, d1))


class ModulatedConv2d(nn.Module):
    """StyleGAN2's convolution, with one weight for each sample as groups."""

    def __init__(self, in_channel, out_channel, kernel_size, style_dim, demodulate=True):
        super().__init__()
        self.eps = 1e-8
        self.out_channel, self.demodulate = out_channel, demodulate
        self.padding = kernel_size // 2
        self.scale = 1 / math.sqrt(in_channel * kernel_size**2)
        self.weight = nn.Parameter(
            torch.randn(1, out_channel, in_channel, kernel_size, kernel_size)
        )
        self.modulation = nn.Linear(style_dim, in_channel)

    def extra_repr(self):
        return f"out_channel={self.out_channel}"

    def forward(self, input, style):
        batch, in_channel, height, width = input.shape
        style = self.modulation(style).view(batch, 1, in_channel, 1, 1)
        weight = self.scale * self.weight * style
        if self.demodulate:
            demod = torch.rsqrt(weight.pow(2).sum([2, 3, 4]) + 1e-8)
            weight = weight * demod.view(batch, self.out_channel, 1, 1, 1)
        weight = weight.view(batch * self.out_channel, in_channel, *self.weight.shape[3:])
        out = F.conv2d(
            input.reshape(1, batch * in_channel, height, width), weight, padding=self.padding,
            groups=batch,
        )  # fmt: skip
        return out.view(batch, self.out_channel, height, width)


MODULES = {
    "swin_block": Entry(SwinBlock, (normal(2, 4, 4, 4),), (normal(1, 6, 4, 4),)),
    "squeeze_excite": Entry(SENet, (normal(3, 3, 8, 8),), (normal(2, 3, 8, 8),)),
    "mlp_mixer": Entry(MLPMixer, (normal(2, 3, 8, 8),), (normal(3, 3, 8, 8),)),
    "capsules": Entry(DigitCaps, (normal(2, 5, 3),), (normal(3, 5, 3),)),
    "pix2pix": Entry(Pix2PixGenerator, (normal(2, 3, 16, 16),), (normal(1, 3, 16, 24),)),
    "style_modulation": Entry(
        lambda: ModulatedConv2d(2, 3, 3, 4), (normal(2, 2, 5, 5), normal(2, 4)),
        (normal(3, 2, 4, 6), normal(3, 4)),
    ),
}  # fmt: skip
