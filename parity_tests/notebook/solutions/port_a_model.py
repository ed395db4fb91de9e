"""Exercises of the notebook port_a_model."""

import numpy as np
import torch
from torch import nn

import jaxgrad


def without_item():
    """Write the module `Rescaled` without `item()`, so that it can be ported, and print the port's
    last line. There is an answer with an `if` on the tensor, and one without an `if`."""

    class Branching(nn.Module):
        def forward(self, x):
            if x.abs().max() > 1:
                x = x / x.abs().max()
            return x

    class Rescaled(nn.Module):
        def forward(self, x):
            largest = x.abs().max()
            return torch.where(largest > 1, x / largest, x)

    inputs = (np.array([[1.0, -3.0], [0.5, 2.0]], np.float32),)
    for module in (Branching(), Rescaled()):
        ported = jaxgrad.port(module, inputs)
        assert ported.report and ported.report.verdict == "pass"
        print(ported.source.rstrip().splitlines()[-1].strip())
