"""Adapt functions and flax or equinox models to one form: a function of a tree of arrays."""

from __future__ import annotations

import contextlib
import fnmatch
import functools
import importlib.metadata
import inspect
import sys
import types
from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any, NamedTuple

import jax
import numpy as np

from jaxgrad._core import paths
from jaxgrad._core.copies import copy_to_numpy, is_tensor
from jaxgrad._core.libraries import is_a
from jaxgrad._core.source import short_name
from jaxgrad._core.version import version
from jaxgrad.parity.prove.users import ProofError as ProofError
from jaxgrad.parity.prove.users import running


class Trained(NamedTuple):
    """The leaves that the `grad` of a framework differentiates; its other leaves are state."""

    paths: frozenset[str]
    rule: str  # "nnx.grad differentiates nnx.Param"
    declared: bool = True  # whether a type or a collection says that a leaf is trained

    def state_of(self, leaves: Iterable[str]) -> frozenset[str]:
        """Return the paths of the leaves that are state."""
        return frozenset(path for path in leaves if path not in self.paths)


class JaxFunction(NamedTuple):
    """A function `fn(params, *inputs)` and its params, a tree of arrays."""

    fn: Callable[..., Any]
    params: Any
    trained: Trained | None = None  # None: every leaf
    is_nnx: bool = False  # whether it consists of flax nnx modules


class Held(NamedTuple):
    """The outputs of a module that holds its state (running statistics), and the new state."""

    outputs: Any
    state: Any
    returned: bool = False  # by the user's function itself, as equinox's state is


def as_function(fn: Any, params: Any) -> JaxFunction:
    """Turn a function, or a flax nnx, linen or equinox module, into a function of a tree.

    torch tensors among the params, as in a state dict, become numpy arrays.
    """
    if isinstance(fn, tuple) and len(fn) == 2 and params is None:
        fn, params = fn
    if isinstance(fn, type):
        raise ProofError(
            f"the second argument is the class {fn.__name__}, not a model: create one, "
            f"{fn.__name__}(...)"
        )
    model = _adapted(fn, params)
    with running("params is not a tree that JAX accepts: jax.tree.map"):
        copied = jax.tree.map(lambda x: copy_to_numpy(x) if is_tensor(x) else x, model.params)
    return model._replace(params=copied)


def _adapted(fn: Any, params: Any) -> JaxFunction:
    if is_a(fn, "flax.linen", "Module"):
        return JaxFunction(_linen_apply(fn, params), params, _trained_by_linen(params))
    if is_a(fn, "flax.nnx", "Module") and params is None:
        return _from_nnx(lambda module, *args, **kwargs: module(*args, **kwargs), fn)
    if is_a(params, "flax.nnx", "Module"):
        return _from_nnx(fn, params)
    if is_a(fn, "equinox", "Module") and (
        is_a(params, "equinox.nn", "State") or (params is None and _needs_state(fn))
    ):
        raise ProofError(
            f"the equinox module {type(fn).__name__} takes its state as an argument: pass "
            "params=(module, state) and fn=lambda params, x: jax.vmap(params[0], "
            "axis_name='batch', in_axes=(0, None), out_axes=(0, None))(x, params[1])"
        )
    if is_a(fn, "equinox", "Module") and (params is None or type(params) is type(fn)):
        module = fn if params is None else params
        return JaxFunction(lambda module, *args, **kwargs: module(*args, **kwargs), module)
    if is_a(fn, "torch.nn", "Module"):
        raise ProofError(
            f"fn is the torch module {type(fn).__name__}: pass the torch module first and its JAX "
            "port second"
        )
    if not callable(fn):
        raise ProofError(
            f"fn is {type(fn).__name__}, which is not callable: pass a function "
            "fn(params, *inputs), or a flax nnx, linen or equinox module"
        )
    if is_a(params, "flax.nnx", "State"):
        return JaxFunction(
            lambda tree, *args, **kwargs: fn(_as_state(params, tree), *args, **kwargs),
            _arrays(params),
        )
    if any(is_a(x, "equinox.nn", "State") for x in _parts(params, "equinox.nn", "State")):
        return JaxFunction(_holding_state(fn), params, _trained_by_equinox(params))
    if _takes_params_later(fn):  # as the flax models of transformers do
        return JaxFunction(
            lambda tree, *args, **kwargs: fn(*args, params=tree, **kwargs),
            params,
            _trained_of_collections(params),
        )
    return JaxFunction(fn, params, _trained_of_collections(params))


def _takes_params_later(fn: Callable[..., Any]) -> bool:
    """Whether a function has an argument `params` that is not its first one."""
    try:
        parameters = list(inspect.signature(fn).parameters.values())
    except (TypeError, ValueError):  # some built-in functions have no signature
        return False
    return any(x.name == "params" and x.kind != x.POSITIONAL_ONLY for x in parameters[1:])


def _parts(tree: Any, module: str, name: str) -> list[Any]:
    """Return the leaves of a tree, where an instance of a library's class is one leaf."""
    return jax.tree.leaves(tree, is_leaf=lambda x: is_a(x, module, name))


def _needs_state(module: Any) -> bool:
    """Whether an equinox module contains layers whose state is an argument."""
    return any(
        is_a(x, "equinox.nn", "StateIndex") for x in _parts(module, "equinox.nn", "StateIndex")
    )


def _holding_state(fn: Callable[..., Any]) -> Callable[..., Any]:
    """Separate the state of equinox from the outputs of a function that returns both."""

    @functools.wraps(fn)
    def run(*args: Any, **kwargs: Any) -> Any:
        out = fn(*args, **kwargs)
        is_pair = isinstance(out, tuple | list) and len(out) == 2
        return Held(*out, returned=True) if is_pair and is_a(out[1], "equinox.nn", "State") else out

    return run


def like(params: Any, tree: Any) -> Any:
    """Turn the tree of arrays of `as_function` back into params of the type of `params`."""
    if is_a(params, "flax.nnx", "Module"):
        from flax import nnx

        graph, state = nnx.split(params)
        return nnx.merge(graph, _as_state(state, tree))
    return _as_state(params, tree) if is_a(params, "flax.nnx", "State") else tree


def in_eval_mode(fn: Any, params: Any) -> tuple[Any, Any] | None:
    """Return an nnx or equinox model in eval mode, as `.eval()` and `inference_mode` switch it.

    The result is None if there is nothing to switch, as in the function of a tree of arrays.
    """
    if is_a(params, "flax.nnx", "Module") or (is_a(fn, "flax.nnx", "Module") and params is None):
        from flax import nnx

        holder = fn if params is None else params
        switched = nnx.clone(holder)
        switched.eval()
        if nnx.graphdef(switched) == nnx.graphdef(holder):
            return None
        return (switched, None) if params is None else (fn, switched)
    if "equinox" not in sys.modules:
        return None
    import equinox as eqx

    if not any(is_a(x, "equinox", "Module") for x in _parts((fn, params), "equinox", "Module")):
        return None
    switched = eqx.nn.inference_mode((fn, params))
    return None if eqx.tree_equal(switched, (fn, params)) else switched


def _from_nnx(fn: Callable[..., Any], module: Any) -> JaxFunction:
    from flax import nnx

    graph, state = nnx.split(module)

    kinds = nnx.Not(nnx.Any(nnx.Param, nnx.RngState, nnx.Intermediate))
    holds = bool(jax.tree.leaves(_arrays(nnx.state(module, kinds))))

    def run(tree: Any, *args: Any, **kwargs: Any) -> Any:
        merged = nnx.merge(graph, _as_state(state, tree))
        before = _arrays(nnx.state(merged, nnx.Param))
        out = fn(merged, *args, **kwargs)
        # Other params are those that the call has changed, such as a moving average of a network.
        params = _changed(before, _arrays(nnx.state(merged, nnx.Param)))
        if not holds and not jax.tree.leaves(params):
            return out
        return Held(out, _merged(_arrays(nnx.state(merged, kinds)), params))

    trained = _paths(_arrays(nnx.state(module, nnx.Param)))
    rule = "nnx.grad differentiates nnx.Param"
    return JaxFunction(run, _arrays(state), Trained(trained, rule), is_nnx=True)


def _changed(before: Any, after: Any) -> Any:
    """Return a nested dict with only the leaves that are other objects than before."""
    if not isinstance(after, Mapping):
        return after
    old = before if isinstance(before, Mapping) else {}
    parts = {key: _changed(old.get(key), x) for key, x in after.items() if x is not old.get(key)}
    return {key: x for key, x in parts.items() if not isinstance(x, Mapping) or x}


def _merged(left: Any, right: Any) -> Any:
    """Return the leaves of two nested dicts in one."""
    if not (isinstance(left, Mapping) and isinstance(right, Mapping)):
        return right
    both = {key: _merged(left[key], right[key]) for key in left if key in right}
    return {**left, **right, **both}


def _trained_by_linen(variables: Any) -> Trained:
    """Return the leaves in linen's collection `params`."""
    trained = frozenset(path for path in _paths(variables) if path.startswith("params/"))
    return Trained(trained, "flax trains the collection 'params'")


def _trained_of_collections(params: Any) -> Trained | None:
    """Return the trained leaves of linen's variables beside a function; None for other trees."""
    if not isinstance(params, Mapping) or "params" not in params or len(params) == 1:
        return None
    if not all(isinstance(collection, Mapping) for collection in params.values()):
        return None
    return _trained_by_linen(params)._replace(declared=False)


def _trained_by_equinox(params: Any) -> Trained:
    """Return the leaves that are not in an equinox state, which `eqx.nn.State` holds."""

    def is_state(x: Any) -> bool:
        return is_a(x, "equinox.nn", "State")

    held = jax.tree.map(
        lambda x: jax.tree.map(lambda _: not is_state(x), x), params, is_leaf=is_state
    )
    trained = frozenset(path for path, is_trained in paths.named(held) if is_trained)
    return Trained(trained, "an eqx.nn.State holds no parameters", declared=False)


def _paths(tree: Any) -> frozenset[str]:
    return frozenset(path for path, _ in paths.named(tree))


def _linen_apply(module: Any, variables: Any) -> Callable[..., Any]:
    """Return the module's `apply`, which also returns the collections that are not params."""
    held = (
        [name for name in variables if name != "params"] if isinstance(variables, Mapping) else []
    )
    if not held:
        return module.apply

    def run(tree: Any, *args: Any, **kwargs: Any) -> Held:
        return Held(*module.apply(tree, *args, mutable=held, **kwargs))

    return run


def _arrays(state: Any) -> Any:
    from flax import nnx

    return nnx.to_pure_dict(state)


def _as_state(state: Any, tree: Any) -> Any:
    from flax import nnx

    copy = jax.tree.map(lambda x: x, state)
    nnx.replace_by_pure_dict(copy, tree)
    return copy


def trainable_mask(trainable: Any, leaves: list[str], *, trains: bool = True) -> list[bool] | None:
    """Return which leaves `trainable=` selects, or None if it was not given.

    A function may select no leaf only if torch trains nothing either.
    """
    if trainable is None:
        return None
    if callable(trainable):
        with running("trainable=: the function of the path"):
            mask = [bool(trainable(path)) for path in leaves]
        if trains and leaves and not any(mask):
            what = "torch trains a parameter, but the function trainable="
            raise ProofError(paths.no_match(what, leaves, paths.words_of(trainable)))
        return mask
    if isinstance(trainable, str):
        trainable = [trainable]
    if isinstance(trainable, list | tuple | set) and all(isinstance(x, str) for x in trainable):
        unknown = [x for x in trainable if not any(fnmatch.fnmatch(p, x) for p in leaves)]
        if unknown:
            what = f"trainable= contains {unknown[0]!r}, which"
            raise ProofError(paths.no_match(what, leaves, unknown))
        return [any(fnmatch.fnmatch(path, x) for x in trainable) for path in leaves]
    with running("trainable= is not a tree that JAX accepts: jax.tree.leaves"):
        flags = dict(paths.named(trainable))
    missing = [path for path in leaves if path not in flags]
    if missing:
        raise ProofError(
            f"trainable= has no entry for the leaf {missing[0]!r}: give a bool for every leaf"
        )
    wrong = [path for path in leaves if not isinstance(flags[path], bool | np.bool_)]
    if wrong:
        raise ProofError(
            f"trainable= has {flags[wrong[0]]!r} for the leaf {wrong[0]!r}: give a bool for every "
            "leaf"
        )
    return [bool(flags[path]) for path in leaves]


def name_of(fn: Any) -> str:
    """Return the JAX model's name for reports: a function's name and file, or a module's class."""
    try:
        inner = inspect.unwrap(fn) if callable(fn) else fn
        while isinstance(inner, functools.partial):
            inner = inspect.unwrap(inner.func)
    except ValueError:  # a cycle of wrappers
        inner = fn
    code = getattr(inner, "__code__", None)
    if isinstance(code, types.CodeType):
        name = str(getattr(inner, "__qualname__", "fn")).rpartition(".")[2]
        return f"{name} ({short_name(code.co_filename)}:{code.co_firstlineno})"
    return type(fn).__name__


def versions() -> dict[str, str]:
    """Return the versions of Python and of the libraries that are imported."""
    known = {"jaxgrad": version(), "python": sys.version.split()[0]}
    known |= {"numpy": np.__version__, "jax": jax.__version__}
    for name in ("torch", "flax", "equinox", "optax"):
        if name in sys.modules:
            known[name] = importlib.metadata.version(name)
    return known


@contextlib.contextmanager
def float64_on_cpu() -> Iterator[None]:
    """Run JAX in float64 on the CPU, whatever the user's own settings are."""
    with (
        jax.enable_x64(True),
        jax.default_device(jax.local_devices(backend="cpu")[0]),
        jax.default_matmul_precision("highest"),
        np.errstate(all="ignore"),
    ):
        yield
