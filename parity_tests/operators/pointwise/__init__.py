"""Records of the operators in `jaxgrad/functional/pointwise/`."""
