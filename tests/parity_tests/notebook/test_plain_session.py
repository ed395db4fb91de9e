"""Scripts run as in a session of their own."""

import subprocess

import pytest

from parity_tests.notebook.plain_session import output, printed


def test_a_script_runs_in_float32_without_the_settings_of_the_suite(monkeypatch):
    """Scripts run with JAX's defaults, even if an environment variable enables x64."""
    monkeypatch.setenv("JAX_ENABLE_X64", "1")
    plain = "import jax.numpy as jnp\nprint(jnp.ones(()).dtype)"
    devices = "import jax\njax.config.update('jax_num_cpu_devices', 3)\nprint(len(jax.devices()))"

    texts = printed({"plain": plain, "devices": devices})

    assert texts == {"plain": "float32\n", "devices": "3\n"}


def test_a_script_that_raises_is_an_error():
    """The page is not written if a model answer fails."""
    with pytest.raises(subprocess.CalledProcessError):
        printed({"wrong": "assert 1 == 2"})


def test_what_a_compiled_program_prints_is_part_of_the_output():
    """The output includes what `jax.debug.print` prints after the call has returned."""
    text = output("late", "import jax\njax.jit(lambda x: jax.debug.print('{}', x))(7)\n")

    assert text == "7\n"
