"""Records of the operators in `jaxgrad/functional/reduction/`."""
