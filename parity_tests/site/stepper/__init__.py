"""The stepper: one page that runs a small network in torch and JAX, one operation at a time."""
