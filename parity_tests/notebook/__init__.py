"""Both programs and their results side by side, for notebooks."""
