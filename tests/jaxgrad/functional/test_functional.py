"""Names, docstrings and subnormal inputs behave alike throughout `jaxgrad.functional`."""

import dataclasses
import doctest
import inspect

import jax
import jax.numpy as jnp
import numpy as np
import pytest
import torch

from jaxgrad import functional
from jaxgrad.parity.interop import to_torch
from parity_tests.operators import jax_side, load, torch_side
from parity_tests.operators._harness.jobs import jobs
from parity_tests.operators._harness.suite import NAMESPACES, OTHERS, public_functions
from parity_tests.operators._harness.torch_side import flat


TORCH = {
    "": (torch, torch.nn.functional),
    "fft": (torch.fft,),
    "linalg": (torch.linalg,),
    "special": (torch.special,),
}
OPERATORS = load()
PUBLIC = public_functions()
DISTRIBUTIONS = {name.lower() for name in torch.distributions.__all__}
REMEDY = (
    "rename or remove each, or start its name with an underscore; if it is a file or a room, leave "
    "it out of `__dir__`"
)


def _place(namespace):
    return getattr(functional, namespace) if namespace else functional


@pytest.mark.parametrize("namespace", TORCH)
def test_every_listed_name_is_an_operator_of_torch(namespace):
    """Every function that a namespace lists also exists in torch's module of the same name."""
    too_new = {name for name, record in OPERATORS.items() if record.too_new}
    strays = [
        name
        for name in {*dir(_place(namespace))}
        - {*(() if namespace else (*NAMESPACES, *OTHERS))}
        - too_new
        if not inspect.isfunction(getattr(_place(namespace), name))
        or not any(callable(getattr(module, name, None)) for module in TORCH[namespace])
    ]

    assert not strays, (
        f"dir({_place(namespace).__name__}) lists {sorted(strays)}, which are not operators of "
        f"torch: {REMEDY}"
    )


def test_every_listed_distribution_is_one_of_torch():
    """Every name in `distributions` is a log-probability or divergence of a torch distribution."""
    place = functional.distributions
    strays = []
    for name in dir(place):
        family = name.removesuffix("_log_prob").removesuffix("_kl_divergence")
        known = family != name and family.replace("_", "") in DISTRIBUTIONS
        if not (known and inspect.isfunction(getattr(place, name))):
            strays.append(name)

    assert not strays, (
        f"dir({place.__name__}) lists {strays}, not a distribution of torch: {REMEDY}"
    )


def test_the_four_namespaces_are_listed():
    """`dir(jaxgrad.functional)` holds the four namespaces, which are its only modules."""
    modules = [name for name in dir(functional) if inspect.ismodule(getattr(functional, name))]

    assert modules == list(NAMESPACES), (
        f"dir(jaxgrad.functional) lists the modules {modules}: adjust `__dir__` in "
        "jaxgrad/functional/__init__.py"
    )


def test_every_operator_with_a_record_is_listed():
    """Every operator that has a record in `parity_tests.operators` is listed by its namespace."""
    missing = []
    for record in OPERATORS:
        namespace, _, name = record.rpartition(".")
        if name not in dir(_place(namespace)):
            missing.append(record)

    assert not missing, f"`__dir__` leaves out {missing}: list them, or remove their records"


# Maps aliases to the recorded name: `torch.special.erf`, for example, aliases `torch.erf`.
ALIASES = {
    name: next((known for known in OPERATORS if PUBLIC.get(known) is function), None)
    for name, function in PUBLIC.items()
    if name not in OPERATORS
}


@pytest.mark.parametrize("name", ALIASES)
def test_an_alias_is_an_alias_in_torch_too(name):
    """In torch, an alias and the function it stands for also return bit-identical results."""
    record = OPERATORS[ALIASES[name] or name]
    call = jobs(record)[0]
    args, kwargs = call.rebuild(to_torch(call.arrays))
    functions = torch_side(record), torch_side(dataclasses.replace(record, name=name, torch=None))

    left, right = (flat(function(*args, **kwargs)) for function in functions)

    assert all(torch.equal(x, y) for x, y in zip(left, right, strict=True))


@pytest.mark.parametrize("name", PUBLIC)
def test_every_function_is_documented(name):
    """Every docstring starts with a sentence, has a runnable example, and gives torch's name."""
    doc = inspect.getdoc(PUBLIC[name]) or ""

    assert doctest.DocTestParser().get_examples(doc), f"functional.{name} has no example that runs"
    assert "Torch:" in doc, f"the docstring of functional.{name} has no line 'Torch:'"
    assert doc.splitlines()[0].endswith("."), f"functional.{name} begins without a sentence"


def test_subnormals_are_zero_on_the_cpu():
    """On CPU, XLA flushes subnormals to zero and torch does not, so results near a kink differ."""
    x = jnp.array([1e-310, -1e-310], jnp.float64)

    assert (x > 0).tolist() == [False, False]
    assert jax.grad(lambda x: functional.relu(x).sum())(x).tolist() == [0.0, 0.0]
    assert torch.tensor([1e-310, -1e-310], dtype=torch.float64).gt(0).tolist() == [True, False]


@pytest.mark.sampled(3)
@pytest.mark.parametrize(
    "name",
    [
        "relu", "relu6", "leaky_relu", "selu", "abs", "sign", "angle", "floor", "ceil", "rsqrt",
        "median", "lgamma", "special.i0e", "special.ndtri",
    ],
)  # fmt: skip
def test_subnormals_agree_when_torch_flushes_them(name):
    """With `torch.set_flush_denormal`, torch agrees. (Its log, sqrt and fmod never flush.)"""
    numbers = np.array([1e-310, -1e-310, 0.5, -2.0])
    x = to_torch([numbers])[0].requires_grad_()
    torch.set_flush_denormal(True)
    try:
        y = torch_side(OPERATORS[name])(x)
        (gradient,) = torch.autograd.grad(y.sum(), x)
    finally:
        torch.set_flush_denormal(False)

    actual, pullback = jax.vjp(jax_side(OPERATORS[name]), jnp.asarray(numbers))

    np.testing.assert_allclose(actual, y.detach(), rtol=1e-12, atol=1e-300)
    np.testing.assert_allclose(
        pullback(jnp.ones_like(actual))[0], gradient, rtol=1e-12, atol=1e-300
    )
