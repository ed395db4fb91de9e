"""JAX port of InContainers (values/test_ranks.py), written by jaxgrad.port for torch 2.13.

The torch program branches on these tests; the port assumes that they hold:
- parts['first'].ndim == 3 (test_ranks.py:0)
- parts['rest'][0].ndim == 2 (test_ranks.py:0)
"""

from flax import nnx


class InContainers(nnx.Module):
    """InContainers (values/test_ranks.py:0)."""

    def __call__(self, parts):
        assert parts["first"].ndim == 3, (
            "this port holds for parts['first'].ndim == 3, as in the example"
        )
        assert parts["rest"][0].ndim == 2, (
            "this port holds for parts['rest'][0].ndim == 2, as in the example"
        )
        first, rest = parts["first"], parts["rest"]
        return first * rest[0].sum()
