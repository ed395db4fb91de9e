"""Two draws that read one key are found, however often a function is called."""

import jax

from jaxgrad.parity.port.proof.key_use import shares_a_key


KEY = jax.random.key(0)


def drawn(key):
    return jax.random.randint(key, (3,), 0, 9)


def test_two_calls_of_one_function_have_keys_of_their_own():
    """`randint` splits its key; both calls share its program, and so its variables."""

    def draws(_, key):
        first, second = jax.random.split(key)
        return drawn(first) + drawn(second)

    assert not shares_a_key(draws, None, (KEY,))


def test_a_key_that_is_read_twice_is_found():
    def once(key):
        return jax.random.uniform(key, (3,))

    assert shares_a_key(lambda _, key: once(key) + once(key), None, (KEY,))
    assert shares_a_key(lambda _, key: jax.jit(once)(key) + once(key), None, (KEY,))
