"""One element in, one element out."""
