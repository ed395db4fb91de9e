"""JAX port of TCN (port_collection/sequence.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`rng` is a key of jax.random; train mode draws from it, eval mode needs none.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax
from jaxgrad import functional

F = functional.at("2.13")


def tcn(p, x, *, rng=None, training=False):
    """TCN (port_collection/sequence.py:0): x (N, 2, L) -> (N, 3)."""
    temporal_block_rng_1, temporal_block_rng_2 = split_rng(rng)
    x = temporal_block(
        p["network"][0], x, chomp_size=1, padding=1, rng=temporal_block_rng_1, training=training
    )
    x = temporal_block(
        p["network"][1],
        x,
        chomp_size=2,
        padding=2,
        dilation=2,
        rng=temporal_block_rng_2,
        training=training,
    )
    return x[:, :, -1]


def temporal_block(p, x, *, chomp_size, padding, dilation=1, rng, training):
    """TemporalBlock (port_collection/sequence.py:0): x (N, M, L) -> (N, 3, L)."""
    out = net(
        p["net"],
        x,
        padding=padding,
        chomp_size=chomp_size,
        dilation=dilation,
        rng=rng,
        training=training,
    )
    if "downsample" in p:
        res = F.conv1d(x, **p["downsample"])
    else:
        res = x
    return jax.nn.relu(out + res)


def net(p, x, *, padding, chomp_size, dilation=1, rng, training):
    """TemporalBlock.net (port_collection/sequence.py:0): x (N, M, L) -> (N, 3, L)."""
    weight = parametrization_list(p[0]["parametrizations"]["weight"])
    x = F.conv1d(x, weight, p[0]["bias"], padding=padding, dilation=dilation)
    x = chomp1d(x, chomp_size=chomp_size)
    x = jax.nn.relu(x)
    return F.dropout(x, p=0.2, training=training, key=rng)


def parametrization_list(p):
    """torch.nn.utils.parametrize.ParametrizationList: returns (3, L', 2)."""
    originals = [p["original0"], p["original1"]]
    return weight_norm(originals[0], originals[1])


def weight_norm(weight_g, weight_v):
    """torch.nn.utils.parametrizations._WeightNorm.

    weight_g (3, 1, 1), weight_v (3, L, 2) -> (3, L, 2).
    """
    return weight_v * (weight_g / F.norm(weight_v, dim=(1, 2), keepdim=True))


def chomp1d(x, *, chomp_size):
    """Chomp1d (port_collection/sequence.py:0): x (N, 3, M) -> (N, 3, L)."""
    return x[:, :, :-chomp_size]


def split_rng(rng, num=2):
    """Split a random key; in eval mode there is none."""
    return [None] * num if rng is None else jax.random.split(rng, num)
