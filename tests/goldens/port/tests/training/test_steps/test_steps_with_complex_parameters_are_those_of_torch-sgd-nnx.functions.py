"""JAX port of Complex (training/test_steps.py), written by jaxgrad.port for torch 2.13.

`p` is the tree of parameters, with the names of torch's state_dict.
`F` has torch's operators, with the gradients of torch 2.13; those of jax.numpy differ at kinks.
jax.grad gives the conjugate of torch's .grad for complex parameters (mix);
pass jax.tree.map(jnp.conj, grads) to an optimizer.
In the docstrings, letters stand for sizes that may change; numbers are the configuration's.
"""

import jax
import jax.numpy as jnp
import jaxgrad
from jaxgrad import functional
from jaxgrad import optim

F = functional.at("2.13")


def complex_forward(p, x):
    """A module that returns its loss, with complex parameters and a frozen layer.

    Complex (training/test_steps.py:0): x (N, 3) -> ().
    """
    h = jnp.tanh(F.linear(F.linear(x, **p["fc"]), **p["frozen"]))
    return jnp.square(F.abs(p["mix"] @ h.T.astype(p["mix"].dtype))).mean()


def loss_fn(params, x):
    """Return the loss of a batch in train mode."""
    return complex_forward(params, x)


def is_trained(name, _):
    """Return whether torch's optimizer trains a leaf."""
    return not name.startswith("frozen/")


OPTIMIZER = optim.sgd(lr=0.05, momentum=0.9, weight_decay=0.1)


def init_optimizer(params):
    """Return the state of the optimizer before the first step."""
    return OPTIMIZER.init(jaxgrad.partition(params, is_trained)[0])


def train_step(params, opt_state, x):
    """Make one step of torch's training loop, in its order: loss, gradients, SGD."""
    trained, others = jaxgrad.partition(params, is_trained)

    def loss_of(trained):
        return loss_fn(jaxgrad.combine(trained, others), x)

    loss, grads = jaxgrad.value_and_grad(loss_of)(trained)
    # jax.grad gives the conjugate of torch's .grad for complex parameters
    grads = jax.tree.map(jnp.conj, grads)
    trained, opt_state = OPTIMIZER.step(grads, opt_state, trained)
    params = jaxgrad.combine(trained, others)
    return params, opt_state, loss
