"""Exclude modules from collection if a package that they need cannot be imported."""

collect_ignore = []

try:
    import flax.nnx  # noqa: F401
except Exception:  # flax may fail with any error under a newer JAX
    collect_ignore += ["jaxgrad/nnx", "tests/jaxgrad/nnx"]
