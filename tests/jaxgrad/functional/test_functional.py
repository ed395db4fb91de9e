"""`dir()` of `jaxgrad.functional` and of its namespaces lists operators and nothing else."""

import inspect

import pytest
import torch

from jaxgrad import functional
from parity_tests.operators import load


TORCH = {
    "": (torch, torch.nn.functional),
    "fft": (torch.fft,),
    "linalg": (torch.linalg,),
    "special": (torch.special,),
}
NAMESPACES = ("distributions", "fft", "linalg", "special")
DISTRIBUTIONS = {name.lower() for name in torch.distributions.__all__}
REMEDY = (
    "rename or remove each, or start its name with an underscore; if it is a file or a room, leave "
    "it out of `__dir__`"
)


def _place(namespace):
    return getattr(functional, namespace) if namespace else functional


@pytest.mark.parametrize("namespace", TORCH)
def test_every_listed_name_is_an_operator_of_torch(namespace):
    """A namespace lists functions that torch's module of the same name also has."""
    strays = [
        name
        for name in set(dir(_place(namespace))) - set(() if namespace else NAMESPACES)
        if not inspect.isfunction(getattr(_place(namespace), name))
        or not any(callable(getattr(module, name, None)) for module in TORCH[namespace])
    ]

    assert not strays, (
        f"dir({_place(namespace).__name__}) lists {sorted(strays)}, which are not operators of "
        f"torch: {REMEDY}"
    )


def test_every_listed_distribution_is_one_of_torch():
    """`distributions` lists a log-probability or a divergence of torch's distributions."""
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
    for record in load():
        namespace, _, name = record.rpartition(".")
        if name not in dir(_place(namespace)):
            missing.append(record)

    assert not missing, f"`__dir__` leaves out {missing}: list them, or remove their records"
