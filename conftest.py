"""What needs a package that does not import here is not collected."""

collect_ignore = []

try:
    import flax.nnx  # noqa: F401
except Exception:  # flax breaks in its own ways with a JAX that is newer than it
    collect_ignore.append("jaxgrad/nnx")
