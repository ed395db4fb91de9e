"""Custom gradients: autograd.Function classes, straight-through estimators, gradient reversal."""

from __future__ import annotations

import functools
import inspect
from collections.abc import Callable
from typing import Any

import jax

from jaxgrad._core import autograd_function as _function
from jaxgrad._core import refusals
from jaxgrad._core.attach import attach, pass_operand_tangents
from jaxgrad._core.tree import is_inexact, merge, partition, select
from jaxgrad._core.typing import ArrayLike, PyTree


def reverse_gradient(x: PyTree, scale: ArrayLike = 1.0) -> PyTree:
    """Return `x` unchanged, and multiply its gradient by `-scale`.

    Args:
        x: An array or a tree of arrays.
        scale: Factor of the reversed cotangent; may be traced, but gets no gradient.

    Returns:
        `x`, bit for bit.

    Raises:
        TypeError: A leaf of `x` is a torch tensor.

    Example:
        >>> import jax, jaxgrad
        >>> print(jax.grad(lambda x: jaxgrad.reverse_gradient(x, 0.5) * 3.0)(1.0))
        -1.5

    Torch: the gradient reversal layer of domain-adversarial training, an autograd.Function whose
    backward returns `-ctx.scale * grad`.
    """

    refusals.torch_values("reverse_gradient's x", x)

    def rule(_: Any, scale: Any, tangents: Any, __: Any) -> Any:
        return [None if t is None else (-scale * t).astype(t.dtype) for t in tangents]

    leaves, structure = jax.tree.flatten(x)
    live = [is_inexact(leaf) for leaf in leaves]
    active, constant = partition(live, leaves)
    reversed_leaves = attach(active, scale, rule, "reverse_gradient")
    return structure.unflatten(merge(live, reversed_leaves, constant))


def straight_through(fun: Callable[..., PyTree]) -> Callable[..., PyTree]:
    """Compute `fun` in the forward pass, with the gradient of the identity.

    Args:
        fun: Any function whose first argument, an array or a tree of arrays, has the structure,
            shapes and dtypes of its result: `jnp.round`, a threshold, a quantizer.

    Returns:
        A function with the values of `fun`. Its gradient with respect to the first argument is that
        of the identity; the other arguments get no gradient.

    Raises:
        TypeError: `fun` is not a function, or the result differs from the first argument in
            structure, shape or dtype.

    Example:
        >>> import jax, jax.numpy as jnp, jaxgrad
        >>> quantized = jaxgrad.straight_through(jnp.round)
        >>> print(*jax.value_and_grad(lambda x: quantized(x) ** 2)(2.6))
        9.0 6.0

    Torch: an autograd.Function whose backward returns its gradient unchanged.

    Differs from jax in:
        1. `x + stop_gradient(fun(x) - x)` rounds, so that its value may differ from that of `fun`.
    """

    refusals.non_function("straight_through", "fun", fun)

    @functools.wraps(fun)
    def through(x: PyTree, *args: Any, **kwargs: Any) -> PyTree:
        out = fun(*jax.lax.stop_gradient((x, *args)), **jax.lax.stop_gradient(kwargs))
        expected, returned = jax.tree.map(_type, x), jax.tree.map(_type, out)
        if returned != expected:
            raise TypeError(
                f"straight_through({getattr(fun, '__name__', fun)}) passes its cotangent on to its "
                f"first argument, so their types must match: got {expected}, returned {returned}"
            )
        leaves, structure = jax.tree.flatten(out)
        live = [is_inexact(leaf) for leaf in leaves]
        active, constant = partition(live, leaves)
        sources = select(live, jax.tree.leaves(x))
        passed = attach(active, sources, pass_operand_tangents, "straight_through")
        return structure.unflatten(merge(live, passed, constant))

    return through


def from_function(cls: type) -> Function:
    """Convert a class written for torch.autograd.Function to a JAX function.

    Args:
        cls: A class with static methods `forward(ctx, *args)`, or `forward(*args)` and
            `setup_context(ctx, inputs, output)`; `backward(ctx, *grad_outputs)`; and, for forward
            mode, `jvp(ctx, *tangents)`. `ctx` has torch's `save_for_backward`, `saved_tensors`,
            `needs_input_grad`, `mark_non_differentiable` and `set_materialize_grads`, and accepts
            any attribute. No base class or decorator is needed.

    Returns:
        A callable; `.apply` is the same callable under torch's name. Arguments that are not arrays
        (numbers, strings, lists) are static. As in torch, a gradient larger than its input is
        summed to the input's shape and cast to its dtype, and captured values get no gradient. An
        input whose gradient is None has a None in `jaxgrad.value_and_grad`. A second derivative
        goes through saved inputs and outputs; any other saved value is a constant for it.

    Raises:
        ValueError: `backward` returns the wrong number of gradients, a gradient of the wrong shape,
            or a gradient for a non-array argument.
        TypeError: `cls` is not a class with a `forward`, or a gradient or a value saved for
            backward is not an array.
        NotImplementedError: The class has no `backward`, or no `jvp` in forward mode.

    Example:
        >>> import jax, jax.numpy as jnp, jaxgrad
        >>> class Exp:
        ...     @staticmethod
        ...     def forward(ctx, x):
        ...         y = jnp.exp(x)
        ...         ctx.save_for_backward(y)
        ...         return y
        ...
        ...     @staticmethod
        ...     def backward(ctx, grad):
        ...         (y,) = ctx.saved_tensors
        ...         return grad * y
        >>> print(jax.grad(jaxgrad.from_function(Exp))(0.0))
        1.0

    Torch: `torch.autograd.Function`.

    Differs from torch in:
        1. In `forward`, `needs_input_grad` is True for every floating point array, since JAX
           decides later what is differentiated. In `backward` it is torch's, unless the backward
           captures traced values.
        2. `backward` is also traced once when the function is called, to find its Nones.
        3. `mark_dirty` has no effect, since arrays are immutable.
    """
    if not (isinstance(cls, type) and hasattr(cls, "forward")):
        raise TypeError(
            "from_function: cls must be a class with static methods forward and backward, "
            f"but got {cls!r}"
        )
    return Function(cls)


class Function:
    """A JAX function that `from_function` created from a torch.autograd.Function class."""

    def __init__(self, cls: type) -> None:
        self.cls = cls
        self.__name__ = self.__qualname__ = cls.__name__
        self.__doc__ = cls.__doc__

    def __call__(self, *args: Any, **kwargs: Any) -> Any:
        return _function.call(self.cls, _positional(self.cls, args, kwargs))

    apply = __call__


def _positional(cls: Any, args: tuple[Any, ...], kwargs: dict[str, Any]) -> tuple[Any, ...]:
    """Return all arguments by position, as `backward` counts them."""
    split = hasattr(cls, "setup_context")  # `forward` has no ctx, and default values are inputs
    bound = inspect.signature(cls.forward).bind(*(() if split else (None,)), *args, **kwargs)
    if split:
        bound.apply_defaults()
    if bound.kwargs:
        raise TypeError(
            f"{cls.__name__}.forward() got keyword-only arguments {sorted(bound.kwargs)}; backward "
            "counts its inputs by position, so make them positional"
        )
    return bound.args if split else bound.args[1:]


def _type(x: Any) -> Any:
    return jax.typeof(x).update(weak_type=False)
