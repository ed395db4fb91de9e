"""JAX port of Sorts (finish/test_shapes.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.

To be written by hand: sorts (test_shapes.py:0)
"""


def sorts(p, x):
    """Write by hand what line 0 of test_shapes.py does: `return x * len(x.unique())`. It returns
    result: float32[5, 3].
    """
    raise NotImplementedError(
        "test_shapes.py:0 `return x * len(x.unique())`: unique() makes a size that depends on "
        "values, which JAX cannot trace; compute with a mask and torch.where on the whole tensor"
    )
