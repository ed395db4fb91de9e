"""Pairs of a torch module and its JAX port in the style of real code, with porting bugs to inject.

Each file defines one pair: `pair(seed, **options)` returns the arguments of `jaxgrad.parity.prove`,
CONFIGURATIONS names options under which both programs agree, BUGS those under which they do not.
"""
