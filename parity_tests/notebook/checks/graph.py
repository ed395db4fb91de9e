"""Checks of the exercises in the notebook graph."""

import torch

from parity_tests.notebook.check import holds


def bytes_that_are_kept(by_exp, by_sum):
    for name, answer, fun in (("exp(x)", by_exp, torch.exp), ("x + 1", by_sum, lambda x: x + 1)):
        sizes = []

        def pack(tensor, sizes=sizes):
            sizes.append(tensor.nbytes)
            return tensor

        with torch.autograd.graph.saved_tensors_hooks(pack, lambda tensor: tensor):
            fun(torch.ones(100, requires_grad=True))
        fault = (
            f"torch does not keep {answer} bytes for {name}. Ask whether the derivative needs x, "
            "the result or neither; both have 100 numbers of 4 bytes"
        )
        yield f"torch keeps {answer} bytes for {name}", holds(answer == sum(sizes), fault), True


def read_both_graphs(names, primitives):
    x = torch.tensor(1.0, requires_grad=True)
    node, wanted = (torch.sin(x) * x).grad_fn, []
    while node is not None:
        wanted.append(node.name())
        node = node.next_functions[0][0] if node.next_functions else None
    found = [name if isinstance(name, str) else name.name() for name in names]  # names or nodes
    yield "the list of torch's nodes", found, wanted
    # Each node but the last, which stores the gradient, belongs to an operation of the program.
    operations = [name.removesuffix("Backward0").lower() for name in wanted[-2::-1]]
    yield "the list of JAX's primitives", [str(primitive) for primitive in primitives], operations
