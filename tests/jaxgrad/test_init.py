"""`import jaxgrad` is cheap: its namespaces are imported when they are first used."""

import ast
import inspect
import json
import subprocess
import sys

import pytest

import jaxgrad
from parity_tests.runner.settings import ROOT


LAZY = ("distributed", "functional", "graph", "optim", "parity")
# Loading any of these takes a noticeable share of the import time of `jaxgrad`.
EXPENSIVE = {"jaxgrad.functional", "jaxgrad.optim._lbfgs", "jaxgrad.parity"}


def run(program: str) -> list[str]:
    """Run a program in a fresh interpreter and return the list of names in its global `names`."""
    program += "\nimport json; print(json.dumps(sorted(names)))"
    done = subprocess.run(
        [sys.executable, "-c", program], cwd=ROOT, capture_output=True, text=True, check=True
    )
    return json.loads(done.stdout)


def test_import_does_not_load_the_namespaces():
    """`import jaxgrad` loads no operators, optimizers or comparison code."""
    loaded = run("import sys, jaxgrad\nnames = set(sys.modules)")

    assert not EXPENSIVE & set(loaded)
    assert not {f"jaxgrad.{name}" for name in LAZY} & set(loaded)


def test_the_list_of_expensive_modules_names_real_modules():
    """Using the namespaces loads every module whose absence the previous test asserts."""
    use = "; ".join(f"jaxgrad.{name}" for name in LAZY)
    loaded = run(f"import sys, jaxgrad\n{use}\nnames = set(sys.modules)")

    assert EXPENSIVE | {f"jaxgrad.{name}" for name in LAZY} <= set(loaded)


def test_every_lazy_name_is_listed_and_resolves():
    """A fresh `dir(jaxgrad)` lists each lazy namespace, and its attribute is that module."""
    assert set(LAZY) <= set(run("import jaxgrad\nnames = dir(jaxgrad)"))
    for name in LAZY:
        assert getattr(jaxgrad, name) is sys.modules[f"jaxgrad.{name}"]


def test_type_checkers_see_exactly_the_lazy_names():
    """The imports under `TYPE_CHECKING` are the names that `__getattr__` resolves."""
    (block,) = (
        node for node in ast.parse(inspect.getsource(jaxgrad)).body if isinstance(node, ast.If)
    )
    imported = [alias.asname for node in block.body for alias in getattr(node, "names", ())]

    assert tuple(imported) == (*jaxgrad._LAZY, *jaxgrad._LAZY_FLAX, *jaxgrad._LAZY_FUNCTIONS)
    assert jaxgrad._LAZY == LAZY


def test_a_lazy_function_is_the_one_of_its_module():
    """`jaxgrad.port` is the function of its module, is listed, and is imported when it is used."""
    names = run("import sys, jaxgrad\nnames = set(sys.modules) | set(dir(jaxgrad))")

    assert "port" in names and "jaxgrad.parity.port.port" not in names
    for name, module in jaxgrad._LAZY_FUNCTIONS.items():
        assert getattr(jaxgrad, name) is getattr(sys.modules[module], name)


def test_the_layers_load_when_they_are_used_and_need_flax():
    """`jaxgrad.nnx` is an attribute too, and without flax its error says what to install."""
    assert jaxgrad.nnx is sys.modules["jaxgrad.nnx"]
    program = """
import sys
sys.modules["flax"] = None
import jaxgrad
names = []
for use in ("jaxgrad.nnx", "__import__('jaxgrad.nnx')"):
    try:
        eval(use)
    except ModuleNotFoundError as error:
        names.append(str(error))
"""
    assert run(program) == ["jaxgrad.nnx needs flax: pip install flax"] * 2


def test_the_porter_needs_torch():
    """Without torch, the error of `jaxgrad.port` says what to install."""
    program = """
import sys
sys.modules["torch"] = None
import jaxgrad
names = []
for use in ("jaxgrad.port", "__import__('jaxgrad.parity.port.port')"):
    try:
        eval(use)
    except ModuleNotFoundError as error:
        names.append(str(error))
"""
    text = "jaxgrad.port runs the torch module, and torch is not installed; run: pip install torch"
    assert run(program) == [text] * 2


def test_namespaces_may_load_while_a_function_is_traced():
    """Loading a namespace inside `jax.jit` leaves no tracer in a module's globals."""
    use = "; ".join(f"jaxgrad.{name}" for name in LAZY)
    program = f"""
import sys, jax, jaxgrad
def traced(x):
    {use}
    return jaxgrad.functional.relu(x)
jax.jit(traced)(1.0)
names = [
    f"{{module}}.{{name}}"
    for module, value in list(sys.modules.items())
    if module.startswith("jaxgrad")
    for name, item in vars(value).items()
    if isinstance(item, jax.core.Tracer)
]"""
    assert run(program) == []


@pytest.mark.parametrize(
    ("module", "name", "tail"),
    [
        (jaxgrad, "retain_gard", "; did you mean 'retain_grad'?"),
        (jaxgrad, "xyz", ""),
        (jaxgrad, "detach", "; use jax.lax.stop_gradient"),
        (jaxgrad, "Function", "; use jaxgrad.from_function"),
        (jaxgrad.functional, "detach", "; use jax.lax.stop_gradient"),
        (jaxgrad.functional, "clmap", "; did you mean 'clamp' or "),
        (jaxgrad.optim, "admw", "; did you mean 'adamw' or "),
        (jaxgrad.nnx, "BatchNrom1d", "; did you mean 'BatchNorm1d' or "),
        (jaxgrad.nnx, "xyz", ""),
        (jaxgrad.functional, "__clamp__", ""),
    ],
)
def test_an_unknown_attribute_raises_an_error_with_the_names_spelt_alike(module, name, tail):
    """The error for a misspelt name is Python's, followed by the similar names.

    A name of torch has a counterpart of another name in its place.
    """
    with pytest.raises(AttributeError) as error:
        getattr(module, name)
    text = f"module {module.__name__!r} has no attribute {name!r}"
    assert str(error.value).startswith(text + tail)
    assert tail or str(error.value) == text
