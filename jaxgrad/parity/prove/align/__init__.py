"""Finding each torch value among the values of a JAX program."""
