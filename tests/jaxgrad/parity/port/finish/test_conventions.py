"""The docstring of a port says what its functions have in common."""

import numpy as np
from torch import nn

from tests.jaxgrad.parity.port._ports import source


X = np.random.default_rng(0).standard_normal((4, 3)).astype(np.float32)


def test_the_docstring_says_only_what_applies():
    """A key and new buffers are mentioned where the port has them."""
    plain = source(nn.Linear(3, 2), X)
    assert "`p` is the tree" in plain and "`rng`" not in plain and "updated p" not in plain
    text = source(nn.Sequential(nn.BatchNorm1d(3), nn.Dropout(0.5)), X)
    assert "A function that changes buffers returns (output, updated p)." in text
    assert "train mode draws from it" in text
