"""Records of the operators in `jaxgrad/functional/linalg/`."""
