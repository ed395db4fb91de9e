"""Find the first place of a difference, one file for each surface."""
