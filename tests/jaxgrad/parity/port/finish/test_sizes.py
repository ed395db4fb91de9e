"""The sizes that may change are found by runs with other sizes."""

import jax
import jax.numpy as jnp
import numpy as np

from jaxgrad.parity.port.finish.sizes import changing


def runs_of(function):
    def runs(structs):
        try:
            jax.eval_shape(function, *structs)
        except Exception:
            return False
        return True

    return runs


def test_a_size_that_the_program_fixes_stays_a_number():
    """The weights fix the last size; the first one is a symbol."""
    found = changing((np.ones((4, 3)),), runs_of(lambda x: x @ jnp.ones((3, 2))))
    assert [found.text(n) for n in found.structs[0].shape] == ["s0", "3"]
    assert not found.numbers


def test_a_loop_over_a_size_is_found_by_a_number():
    """JAX cannot trace the loop with a symbol, and a result may be a multiple."""

    def loop(x):
        return jnp.concatenate([x[:, n] for n in range(x.shape[1])])

    found = changing((np.ones((4, 5)),), runs_of(loop))
    (number,) = found.numbers.values()
    assert found.structs[0].shape[1] == number
    assert found.text(2 * number) == f"2*{found.text(number)}"
