"""Pairs of a torch module and its JAX port, as people write them, and bugs to plant in the port.

Each file is one pair: `pair(seed, **options)` gives the arguments of `jaxgrad.parity.prove`,
CONFIGURATIONS names options under which both sides agree, BUGS those under which they do not.
"""
