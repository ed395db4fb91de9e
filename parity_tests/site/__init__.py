"""Pages of the documentation that are generated."""
