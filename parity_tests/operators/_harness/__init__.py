"""Runs the record of an operator in torch and in JAX, and compares the results."""
