"""Exercises of the notebook graph."""

# pyright: reportOptionalMemberAccess=false

import jax
import jax.numpy as jnp
import torch

import jaxgrad


def bytes_that_are_kept():
    """x has 100 numbers of 4 bytes. Predict how many bytes `exp(x)` and `x + 1` keep for the
    backward pass. The solution counts them in both frameworks."""

    def kept(fun):
        sizes = []

        def pack(tensor):
            sizes.append(tensor.nbytes)
            return tensor

        with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
            fun(torch.ones(100, requires_grad=True))
        return sum(sizes)

    x = jnp.ones(100, jnp.float32)
    by_exp, by_sum = (int(jaxgrad.saved_bytes(fun, x)) for fun in (jnp.exp, lambda x: x + 1))
    in_torch = [kept(torch.exp), kept(lambda x: x + 1)]
    print(in_torch, [by_exp, by_sum])
    assert in_torch == [by_exp, by_sum] == [400, 0]


def read_both_graphs():
    """For `sin(x) * x` print the names of torch's nodes from the result back to the leaf, and the
    names of the primitives in JAX's jaxpr."""
    x = torch.tensor(1.0, requires_grad=True)
    node, names = (torch.sin(x) * x).grad_fn, []
    while node is not None:
        names.append(node.name())
        node = node.next_functions[0][0] if node.next_functions else None

    jaxpr = jax.make_jaxpr(lambda x: jnp.sin(x) * x)(1.0)
    primitives = [equation.primitive.name for equation in jaxpr.eqns]
    print(names, primitives)
    assert names[:2] == ["MulBackward0", "SinBackward0"] and names[2].endswith("AccumulateGrad")
    assert primitives == ["sin", "mul"]  # from the argument to the result
