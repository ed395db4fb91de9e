"""The audit names the public functions that no program calls."""

import inspect

import jax.numpy as jnp
import pytest

import jaxgrad
from jaxgrad import functional, nnx
from parity_tests.devices import coverage
from parity_tests.devices.layers import INITIALISERS, LAYERS, plain
from tests._helpers import ALL


def test_a_function_that_is_not_called_is_named():
    """A public function is missing until it is called, and only while calls are recorded."""
    functional.relu6(jnp.ones(2))
    with coverage.calls() as codes:
        functional.relu(jnp.ones(2))
    missing = coverage.not_called(codes)

    assert "functional.relu6" in missing and "GradScaler" in missing
    assert "functional.relu" not in missing


def test_a_class_is_called_through_its_methods():
    """A class counts as called once one of its methods is."""
    with coverage.calls() as codes:
        jaxgrad.GradScaler()
    assert "GradScaler" not in coverage.not_called(codes)


def test_functions_of_the_host_are_public_and_not_counted():
    """Each function that is said to run on the host exists, and is never asked for."""
    assert coverage.ON_THE_HOST.keys() <= coverage.public().keys()
    assert coverage.ON_THE_HOST.keys().isdisjoint(coverage.not_called(set()))


@pytest.mark.skipif(not ALL, reason="`make test-all` and `make exports` check this")
def test_each_layer_and_initialiser_has_a_program():
    """A new layer or initialiser needs a row in parity_tests/devices/layers.py."""
    public = coverage.public()
    host = {name.rpartition(".")[2] for name in coverage.ON_THE_HOST}
    for prefix, table in (("nnx.", LAYERS), ("nnx.init.", INITIALISERS)):
        names = {name.removeprefix(prefix) for name in public if name.startswith(prefix)}
        others = {name for name in names if "." not in name and name not in host}
        assert others - {"Incompatible"} - plain().keys() <= table.keys()


def test_layers_without_a_program_have_no_parameters_and_draw_nothing():
    """A layer that has parameters or takes keys needs a program of its own."""
    known = {n: inspect.signature(x.__init__).parameters for n, x in plain().items()}  # pyright: ignore[reportGeneralTypeIssues]
    assert {"ReLU", "MaxPool2d", "Sequential"} <= known.keys()
    assert [n for n, parameters in known.items() if {"rngs", "dtype"} & set(parameters)] == []


def test_the_layers_of_the_table_exist():
    """Each row of the table of layers is a layer of `jaxgrad.nnx`."""
    assert all(hasattr(nnx, name) for name in LAYERS)
