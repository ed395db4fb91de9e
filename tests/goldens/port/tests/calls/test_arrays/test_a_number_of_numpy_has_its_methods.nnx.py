"""JAX port of Counted (calls/test_arrays.py), written by jaxgrad.port for torch 2.13."""

import numpy as np
from flax import nnx
from jaxgrad import functional

F = functional.at("2.13")


class Counted(nnx.Module):
    """Counted (calls/test_arrays.py:0)."""

    def __call__(self, x):
        top = np.ceil(np.log(x.shape[0])).astype("int").item()
        return F.topk(x, top, dim=0).values
