"""Regions without gradients, and freezing by partition.

torch switches recording off by a mode; JAX records nothing and differentiates functions. So the
region is a function here, and what is frozen is simply not an argument that is differentiated.
"""

import functools
from collections.abc import Callable
from typing import Any, TypeVar

import jax
from jax import lax


Fun = TypeVar("Fun", bound=Callable[..., Any])


def no_grad(fun: Fun) -> Fun:
    """Run a function as a constant: no gradient flows through it, to whatever it uses.

    `lax.stop_gradient` of its arguments and of its result. The arguments are stopped so that
    the inside is never differentiated at all: code without a derivative may stand there. What
    `fun` captures is stopped at the result only, so pass such code its values as arguments.

    Args:
      fun: Any function of trees; leaves that are not JAX arrays pass as they are.

    Returns:
      A function with the same arguments and the same value.

    Example:
      >>> import jax, jaxgrad
      >>> import jax.numpy as jnp
      >>> def loss(x):
      ...     return jaxgrad.no_grad(jnp.square)(x) * x
      >>> print(jax.grad(loss)(3.0))
      9.0

      A host callback has no derivative; in the region it needs none:

      >>> def on_host(x):
      ...     return jax.pure_callback(lambda a: a + 1, jax.ShapeDtypeStruct((), x.dtype), x)
      >>> print(jax.grad(lambda x: jaxgrad.no_grad(on_host)(x) * x)(3.0))
      4.0

      What the function captures is constant too:

      >>> print(jax.grad(lambda x: jaxgrad.no_grad(lambda: x**2)() * x)(3.0))
      9.0

    Torch: `torch.no_grad`, and `torch.inference_mode` without its restrictions.

    Differs from jax in:
      1. There is no `enable_grad` inside the region; compute such values outside of it.
    """

    @functools.wraps(fun)
    def constant(*args: Any, **kwargs: Any) -> Any:
        args, kwargs = _stop((args, kwargs))
        return _stop(fun(*args, **kwargs))

    return constant  # pyright: ignore[reportReturnType]  # the same signature, by wraps


def partition(tree: Any, predicate: Callable[[str, Any], bool]) -> tuple[Any, Any]:
    """Split a tree into the leaves to train and the leaves to freeze.

    Args:
      tree: Parameters, a tree of arrays.
      predicate: `predicate(name, leaf)` says whether a leaf is trained; the name is torch's,
        `"features.0.weight"`.

    Returns:
      `(trainable, frozen)`, both of the tree's form, with None where the leaf is in the other.

    Example:
      >>> import jax, jaxgrad
      >>> params = {"trunk": {"w": 2.0}, "head": {"w": 3.0}}
      >>> trainable, frozen = jaxgrad.partition(params, lambda name, _: name.startswith("head."))
      >>> def loss(trainable, frozen, x):
      ...     params = jaxgrad.combine(trainable, frozen)
      ...     return params["head"]["w"] * params["trunk"]["w"] * x
      >>> print(jax.grad(loss)(trainable, frozen, 5.0)["trunk"])
      {'w': None}

    Torch: `p.requires_grad_(False)` for each parameter `p` of `module.named_parameters()` that is
      not to be trained; the gradient still flows through it to what comes before.
    """

    def side(trained: bool) -> Any:
        def leaf(path: Any, x: Any) -> Any:
            name = jax.tree_util.keystr(path, simple=True, separator=".")
            return x if bool(predicate(name, x)) == trained else None

        return jax.tree_util.tree_map_with_path(leaf, tree)

    return side(True), side(False)


def combine(trainable: Any, frozen: Any) -> Any:
    """Join what `partition` split.

    Args:
      trainable: A tree with None where the leaf is in `frozen`.
      frozen: A tree of the same form with None where the leaf is in `trainable`.

    Returns:
      The whole tree.

    Example:
      >>> import jaxgrad
      >>> jaxgrad.combine({"a": 1.0, "b": None}, {"a": None, "b": 2.0})
      {'a': 1.0, 'b': 2.0}

    Torch: nothing; a module keeps its frozen parameters beside the others.
    """
    return jax.tree.map(
        lambda a, b: b if a is None else a, trainable, frozen, is_leaf=lambda x: x is None
    )


def _stop(tree: Any) -> Any:
    return jax.tree.map(lambda x: lax.stop_gradient(x) if isinstance(x, jax.Array) else x, tree)
