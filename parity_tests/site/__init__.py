"""Generate pages of the documentation."""
