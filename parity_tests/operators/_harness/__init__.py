"""Run an operator's record in torch and in JAX, and compare the results."""
