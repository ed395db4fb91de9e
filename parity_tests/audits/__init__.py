"""Checks of the suite and of the library as a whole: mutants, planted bugs, costs, optax."""
