"""JAX port of Siamese (port_collection/structured.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

from jaxgrad import functional

F = functional.at("2.13")


def siamese(p, x1, x2, label, *, margin=1.0):
    """Siamese (port_collection/structured.py:0).

    x1 (N, 1, 6, 6), x2 (N, 1, 6, 6), label (N,) int -> ().
    """
    out1, out2 = forward_once(p, x1), forward_once(p, x2)
    distance = F.pairwise_distance(out1, out2)
    return ((1 - label) * distance**2 + label * F.clamp(margin - distance, min=0.0) ** 2).mean()


def forward_once(p, x):
    """Siamese.forward_once (port_collection/structured.py:0): x (N, 1, 6, 6) -> (N, 3)."""
    x = F.conv2d(x, **p["trunk"][0])
    x = F.prelu(x, **p["trunk"][1])
    x = F.avg_pool2d(x, 2, stride=2)
    x = x.reshape(x.shape[0], -1)
    x = F.linear(x, **p["trunk"][4])
    return F.normalize(x)
