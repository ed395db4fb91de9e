"""Exercises of the notebook port_a_model."""

import numpy as np
import torch
from torch import nn

import jaxgrad


def without_item():
    """Write the module `Rescaled` without `item()` and without an `if`, so that it can be ported,
    and print the port's last line."""

    class Rescaled(nn.Module):
        def forward(self, x):
            largest = x.abs().max()
            return torch.where(largest > 1, x / largest, x)

    inputs = (np.array([[1.0, -3.0], [0.5, 2.0]], np.float32),)
    module = Rescaled()
    ported = jaxgrad.port(module, inputs)
    assert ported.report and ported.report.verdict == "pass"
    print(ported.source.rstrip().splitlines()[-1].strip())
