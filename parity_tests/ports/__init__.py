"""Pairs of a torch module and its JAX port in the style of real code, with porting bugs to inject.

Each file defines one pair: `pair(seed, **options)` returns the arguments of `jaxgrad.parity.prove`,
CONFIGURATIONS lists options for which both programs agree, and BUGS options for which they differ.
A pair has the converter of its weights as `weights`, which `prove` is given, or as `converter`,
which only the tests and the common checks are given: `prove` must then infer the map.
"""
