"""The map from each element of a torch tensor to an element of a JAX leaf."""
