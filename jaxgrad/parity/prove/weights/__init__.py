"""Which element of which torch tensor stands in which element of which JAX leaf."""
