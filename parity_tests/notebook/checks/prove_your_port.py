"""Checks of the exercises in the notebook prove_your_port."""

import numpy as np
import torch

from jaxgrad.parity import prove


def default_of_gelu(port):
    torch.manual_seed(0)
    net = torch.nn.Sequential(torch.nn.Linear(2, 3), torch.nn.GELU())
    params = {name: p.numpy().copy() for name, p in net.state_dict().items()}
    report = prove(net, port, params, (np.array([[1.0, -0.5], [0.2, 2.0]]),))
    place = f": {report.first.where}" if report.first else ""
    yield f"`prove` finds no difference{place}", report.verdict == "pass", True
