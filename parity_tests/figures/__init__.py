"""Figures of the notebooks: each is drawn from a run of torch and JAX."""
