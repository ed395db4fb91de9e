"""JAX port of Sequential (torch.nn.modules.container), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters and buffers, with the names of torch's state_dict.
Buffers in `p`, which have no gradient in torch: */order.
Split them from `p` with jaxgrad.partition before jax.grad; jaxgrad.combine joins them again.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

from jaxgrad import functional

F = functional.at("2.13")


def sequential(p, x):
    """torch.nn.Sequential: x (N, L) -> (N, 3)."""
    x = shuffle(p[0], x)
    x = F.linear(x, **p[1])
    return shuffle(p[2], x)


def shuffle(p, x):
    """Shuffle (nnx/test_initial_values.py:0): x (N, D) -> (N, 3)."""
    return x[:, p["order"]]
