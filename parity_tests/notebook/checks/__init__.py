"""The checks of the exercises: each function compares an answer with torch."""
