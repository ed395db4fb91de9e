"""Fixtures that several tests of the prover share."""

import contextlib
import copy
from collections.abc import Iterator
from typing import Any

import numpy as np
import pytest
import torch

from jaxgrad.parity.prove.clock import Clock
from jaxgrad.parity.prove.evidence import Evidence, gather
from jaxgrad.parity.prove.record import adapters
from jaxgrad.parity.prove.record.torch_side.factory import open_torch_side
from jaxgrad.parity.prove.request import Request
from tests.jaxgrad.parity.prove._helpers import Net, arrays, port


@pytest.fixture(scope="session")
def arguments() -> dict[str, Any]:
    """The arguments of `prove` for a small module and a correct port of it."""
    torch.manual_seed(0)
    module = Net()
    inputs = (np.random.default_rng(0).standard_normal((5, 6)),)
    return dict(module=module, fn=port, params=arrays(module), inputs=inputs)


@pytest.fixture(scope="session")
def evidence(arguments: dict[str, Any]) -> Iterator[Evidence]:
    """The evidence for this port, for tests of a single surface."""
    module = copy.deepcopy(arguments["module"])  # it is borrowed until the last test
    request = Request(module, *(arguments[name] for name in ("fn", "params", "inputs")))
    with adapters.float64_on_cpu():
        side = open_torch_side(request)
        found = gather(request, Clock(), side)
    with contextlib.closing(side):
        yield found
