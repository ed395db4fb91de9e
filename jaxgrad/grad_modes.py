"""Stop gradients through a function, and freeze parameters by partitioning them.

torch turns recording off with a mode. JAX differentiates functions and records nothing. Here, a
region without gradients is a function, and frozen parameters are arguments without gradients.
"""

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import jax
from jax import lax

from jaxgrad._core import paths, refusals
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

    Raises:
        TypeError: `fun` is not a function; the gradient of an array is stopped by
            `lax.stop_gradient`.

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

    refusals.non_function("no_grad", "fun", fun)

    @functools.wraps(fun)
    def constant(*args: Any, **kwargs: Any) -> Any:
        args, kwargs = _stop((args, kwargs))
        return _stop(fun(*args, **kwargs))

    return constant  # pyright: ignore[reportReturnType]  # the same signature, by wraps


def partition(tree: PyTree, predicate: Callable[[str, Any], bool]) -> tuple[PyTree, PyTree]:
    """Split a tree into trainable and frozen leaves.

    Args:
        tree: The parameters, a tree of arrays.
        predicate: `predicate(path, leaf)` returns whether a leaf is trained. A path joins the keys
            of a leaf with "/", as in `"features/0/weight"`, where torch's name has dots. The paths
            of an `nnx.State` have no `value` at their end. The functions that
            `jaxgrad.optim.param_groups` takes get the path alone.

    Returns:
        `(trainable, frozen)`, two trees of the same structure as `tree`; each has None in place of
        the other's leaves. A predicate that is true for every leaf is allowed, and so is a tree
        without leaves.

    Raises:
        TypeError: The predicate is not a function of two arguments.
        ValueError: The predicate is true for no leaf, so that nothing would be trained.

    Example:
        >>> import jax, jaxgrad
        >>> params = {"trunk": {"w": 2.0}, "head": {"w": 3.0}}
        >>> trainable, frozen = jaxgrad.partition(params, lambda path, _: path.startswith("head/"))
        >>> def loss(trainable, frozen, x):
        ...     params = jaxgrad.combine(trainable, frozen)
        ...     return params["head"]["w"] * params["trunk"]["w"] * x
        >>> print(jax.grad(loss)(trainable, frozen, 5.0)["trunk"])
        {'w': None}

    Torch: `p.requires_grad_(False)` for each frozen parameter of `module.named_parameters()`; the
        gradient still flows through frozen layers to earlier ones.
    """

    example = "lambda path, leaf: path.startswith('head/')"
    if not callable(predicate):
        raise TypeError(
            f"partition: predicate must be a function of (path, leaf), not {predicate!r}; "
            f"for example {example}"
        )
    refusals.other_arguments("partition: predicate", predicate, ("path", "leaf"), example)
    named = paths.named(tree)
    trained = [bool(predicate(path, x)) for path, x in named]
    if named and not any(trained):
        text = paths.no_match(
            "partition: nothing would be trained, because the predicate",
            [path for path, _ in named],
            paths.words_of(predicate),
        )
        raise ValueError(f"{text}. To freeze the whole tree, do not differentiate it")
    treedef = jax.tree.structure(tree)
    pairs = list(zip(trained, (x for _, x in named), strict=True))
    trainable = treedef.unflatten([x if mine else None for mine, x in pairs])
    return trainable, treedef.unflatten([None if mine else x for mine, x in pairs])


def combine(trainable: PyTree, frozen: PyTree) -> PyTree:
    """Merge two trees that `partition` returned.

    Args:
        trainable: A tree with None in place of frozen leaves.
        frozen: A tree of the same structure with None in place of trainable leaves.

    Returns:
        The complete tree.

    Raises:
        ValueError: The trees differ in structure.

    Example:
        >>> import jaxgrad
        >>> jaxgrad.combine({"a": 1.0, "b": None}, {"a": None, "b": 2.0})
        {'a': 1.0, 'b': 2.0}

    Torch: no counterpart; a module keeps frozen and trainable parameters together.
    """
    try:
        return jax.tree.map(
            lambda a, b: b if a is None else a, trainable, frozen, is_leaf=lambda x: x is None
        )
    except ValueError as error:
        raise refusals.other_structure("combine", trainable=trainable, frozen=frozen) from error


def _stop(tree: Any) -> Any:
    return jax.tree.map(lambda x: lax.stop_gradient(x) if isinstance(x, jax.Array) else x, tree)
