"""MobileNetV2, with torchvision's module names so that its published weights load, fine-tuned."""

from collections.abc import Mapping
from typing import Any

import torch
from torch import Tensor, nn

from torch_ref._net import linear


# For each stage: output channels, number of blocks, stride of the first block.
STAGES = [(16, 1, 1), (24, 2, 2), (32, 3, 2), (64, 4, 2), (96, 3, 1), (160, 3, 2), (320, 1, 1)]
EXPANSION = 6  # in all blocks but the first
STEM, LAST = 32, 1280
DROPOUT = 0.2


class ConvNormActivation(nn.Sequential):
    def __init__(self, n_in: int, n_out: int, kernel: int = 3, stride: int = 1, groups: int = 1):
        super().__init__(
            nn.Conv2d(n_in, n_out, kernel, stride, kernel // 2, groups=groups, bias=False),
            nn.BatchNorm2d(n_out),
            nn.ReLU6(inplace=True),
        )


class InvertedResidual(nn.Module):
    """1x1 expansion, 3x3 depthwise, linear 1x1 projection, and a residual sum if the shapes
    allow.
    """

    def __init__(self, n_in: int, n_out: int, stride: int, expansion: int):
        super().__init__()
        wide = n_in * expansion
        widen = [ConvNormActivation(n_in, wide, kernel=1)] if expansion != 1 else []
        self.conv = nn.Sequential(
            *widen,
            ConvNormActivation(wide, wide, stride=stride, groups=wide),
            nn.Conv2d(wide, n_out, 1, bias=False),
            nn.BatchNorm2d(n_out),
        )
        self.residual = stride == 1 and n_in == n_out

    def forward(self, x: Tensor) -> Tensor:
        return x + self.conv(x) if self.residual else self.conv(x)


class Dropout(nn.Module):
    """`nn.Dropout` in train mode with a given mask."""

    def __init__(self, p: float):
        super().__init__()
        self.p = p
        self.mask: Tensor | None = None

    def forward(self, x: Tensor) -> Tensor:
        if not self.training:
            return x
        assert self.mask is not None, "give the dropout a mask before a forward in train mode"
        return x * self.mask / (1 - self.p)


class MobileNetV2(nn.Module):
    def __init__(self, num_classes: int = 1000):
        super().__init__()
        layers: list[nn.Module] = [ConvNormActivation(3, STEM, stride=2)]
        n_in = STEM
        for n_out, blocks, stride in STAGES:
            for block in range(blocks):
                expansion = EXPANSION if len(layers) > 1 else 1
                layers.append(InvertedResidual(n_in, n_out, stride if block == 0 else 1, expansion))
                n_in = n_out
        layers.append(ConvNormActivation(n_in, LAST, kernel=1))
        self.features = nn.Sequential(*layers)
        self.classifier = nn.Sequential(Dropout(DROPOUT), nn.Linear(LAST, num_classes))

    def forward(self, x: Tensor) -> Tensor:
        return self.classifier(self.features(x).mean([2, 3]))


def freeze(weights: Mapping[str, Tensor], classifier: Any, mask: Tensor, x: Tensor, y: Tensor):
    net = MobileNetV2()
    net.load_state_dict(dict(weights))
    for parameter in net.parameters():
        parameter.requires_grad = False
    net.classifier[1] = linear(classifier)
    return _one_step(net, mask, x, y)


def all_gradients(
    weights: Mapping[str, Tensor], classifier: Any, mask: Tensor, x: Tensor, y: Tensor
):
    net = MobileNetV2()
    net.load_state_dict(dict(weights))
    net.classifier[1] = linear(classifier)
    return _one_step(net, mask, x, y)


def _one_step(net: MobileNetV2, mask: Tensor, x: Tensor, y: Tensor):
    net.classifier[0].mask = mask
    optimizer = torch.optim.SGD(net.parameters(), lr=1e-2, momentum=0.9)
    net.train()
    logits = net(x)
    loss = nn.functional.cross_entropy(logits, y)
    loss.backward()
    optimizer.step()
    named = dict(net.named_parameters())
    return {
        "logits": logits,
        "loss": loss,
        "grads": {name: p.grad for name, p in named.items()},
        "momentum": {name: optimizer.state[p].get("momentum_buffer") for name, p in named.items()},
        "params": named,
        "buffers": dict(net.named_buffers()),
    }
