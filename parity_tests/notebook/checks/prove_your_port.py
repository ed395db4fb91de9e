"""Checks of the exercises in the notebook prove_your_port."""

import numpy as np
import torch

from jaxgrad.parity import prove
from parity_tests.notebook.check import holds


def default_of_gelu(port):
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.GELU())
    params = {name: p.numpy().copy() for name, p in net.state_dict().items()}
    report = prove(net, port, params, (np.array([[1.0, -0.5], [0.2, 2.0]]),))
    first = report.first
    fault = f"`prove` finds a difference in {first.where}" if first else "`prove` fails"
    yield "`prove` finds no difference", holds(report.verdict == "pass", fault), True
