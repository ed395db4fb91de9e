"""Machinery that all optimizers share; `jaxgrad/optim/README.md` explains it."""
