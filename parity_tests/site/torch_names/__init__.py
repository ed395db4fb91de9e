"""The page on torch's functions that `jaxgrad.functional` lacks: what to write instead, or why."""
