"""L-BFGS: the optimizer, its history and its line search."""
