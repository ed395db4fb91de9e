"""Stop gradients through a function, and freeze parameters by partitioning them.

torch turns recording off with a mode. JAX differentiates functions and records nothing. Here, a
region without gradients is a function, and frozen parameters are arguments without gradients.
"""

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import jax
from jax import lax

from jaxgrad._core.typing import PyTree


Fun = TypeVar("Fun", bound=Callable[..., Any])


def no_grad(fun: Fun) -> Fun:
    """Treat the result of `fun` as a constant: no gradient flows through it.

    `lax.stop_gradient` is applied to the arguments and to the result. Stopping the arguments keeps
    JAX from differentiating the body at all, so it may contain code that has no derivative.
    Captured values are stopped only at the result; pass them to such code as arguments.

    Args:
        fun: Any function of trees; leaves that are not JAX arrays are passed on unchanged.

    Returns:
        A function with the same arguments and the same result.

    Example:
        >>> import jax, jaxgrad
        >>> import jax.numpy as jnp
        >>> def loss(x):
        ...     return jaxgrad.no_grad(jnp.square)(x) * x
        >>> print(jax.grad(loss)(3.0))
        9.0

        A host callback has no derivative, and needs none here:

        >>> def on_host(x):
        ...     return jax.pure_callback(lambda a: a + 1, jax.ShapeDtypeStruct((), x.dtype), x)
        >>> print(jax.grad(lambda x: jaxgrad.no_grad(on_host)(x) * x)(3.0))
        4.0

        Captured values are constants as well:

        >>> print(jax.grad(lambda x: jaxgrad.no_grad(lambda: x**2)() * x)(3.0))
        9.0

    Torch: `torch.no_grad`, and `torch.inference_mode` without its restrictions.

    Differs from jax in:
        1. There is no `enable_grad` inside the function; compute such values outside of it.
    """

    @functools.wraps(fun)
    def constant(*args: Any, **kwargs: Any) -> Any:
        args, kwargs = _stop((args, kwargs))
        return _stop(fun(*args, **kwargs))

    return constant  # pyright: ignore[reportReturnType]  # the same signature, by wraps


def partition(tree: PyTree, predicate: Callable[[str, Any], bool]) -> tuple[PyTree, PyTree]:
    """Split a tree into trainable and frozen leaves.

    Args:
        tree: The parameters, a tree of arrays.
        predicate: `predicate(name, leaf)` returns whether a leaf is trained; names have torch's
            form, `"features.0.weight"`. The functions that `jaxgrad.optim.param_groups` takes get
            the name alone.

    Returns:
        `(trainable, frozen)`, two trees of the same structure as `tree`; each has None in place of
        the other's leaves.

    Example:
        >>> import jax, jaxgrad
        >>> params = {"trunk": {"w": 2.0}, "head": {"w": 3.0}}
        >>> trainable, frozen = jaxgrad.partition(params, lambda name, _: name.startswith("head."))
        >>> def loss(trainable, frozen, x):
        ...     params = jaxgrad.combine(trainable, frozen)
        ...     return params["head"]["w"] * params["trunk"]["w"] * x
        >>> print(jax.grad(loss)(trainable, frozen, 5.0)["trunk"])
        {'w': None}

    Torch: `p.requires_grad_(False)` for each frozen parameter of `module.named_parameters()`; the
        gradient still flows through frozen layers to earlier ones.
    """

    def select(trained: bool) -> PyTree:
        def leaf(path: Any, x: Any) -> Any:
            name = jax.tree_util.keystr(path, simple=True, separator=".")
            return x if bool(predicate(name, x)) == trained else None

        return jax.tree_util.tree_map_with_path(leaf, tree)

    return select(True), select(False)


def combine(trainable: PyTree, frozen: PyTree) -> PyTree:
    """Merge two trees that `partition` returned.

    Args:
        trainable: A tree with None in place of frozen leaves.
        frozen: A tree of the same structure with None in place of trainable leaves.

    Returns:
        The complete tree.

    Example:
        >>> import jaxgrad
        >>> jaxgrad.combine({"a": 1.0, "b": None}, {"a": None, "b": 2.0})
        {'a': 1.0, 'b': 2.0}

    Torch: no counterpart; a module keeps frozen and trainable parameters together.
    """
    return jax.tree.map(
        lambda a, b: b if a is None else a, trainable, frozen, is_leaf=lambda x: x is None
    )


def _stop(tree: Any) -> Any:
    return jax.tree.map(lambda x: lax.stop_gradient(x) if isinstance(x, jax.Array) else x, tree)
