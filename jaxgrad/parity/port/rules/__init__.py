"""How the operators of torch are written in JAX."""
