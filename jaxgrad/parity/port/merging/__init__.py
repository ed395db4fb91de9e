"""Which functions the port has: copies are merged, what only passes on is left out."""
