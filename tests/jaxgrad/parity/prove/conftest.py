"""Fixtures that several tests of the prover share."""

from typing import Any

import numpy as np
import pytest
import torch

from tests.jaxgrad.parity.prove._helpers import Net, arrays, port


@pytest.fixture(scope="session")
def arguments() -> dict[str, Any]:
    """The arguments of `prove` for a small module and a correct port of it."""
    torch.manual_seed(0)
    module = Net()
    inputs = (np.random.default_rng(0).standard_normal((5, 6)),)
    return dict(module=module, fn=port, params=arrays(module), inputs=inputs)
