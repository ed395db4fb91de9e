"""The figure of the stops shows the bytes that the programs keep."""

from parity_tests.figures import stop_bytes
from parity_tests.figures.run import in_torch
from tests.parity_tests.figures.reading import words


def test_the_bytes_are_those_of_a_fresh_count():
    """torch's bars are the bytes that its program counts, and every number is written."""
    fresh = in_torch(stop_bytes.CASE)["shown"]["bytes"]
    record = stop_bytes.record()

    assert {way: kept.torch for way, kept in record.items()} == fresh
    numbers = {str(count) for kept in record.values() for count in kept}
    assert numbers <= set(words(stop_bytes.draw(record)))


def test_stopping_keeps_less_than_nothing_stopped():
    """In JAX all three stops keep the same; in torch only those that do not record keep less."""
    kept = stop_bytes.record()

    assert kept["detach"].jax == kept["no_grad"].jax == kept["inference_mode"].jax
    assert kept["no_grad"].jax < kept["nothing"].jax
    assert kept["no_grad"].torch == kept["inference_mode"].torch < kept["detach"].torch
