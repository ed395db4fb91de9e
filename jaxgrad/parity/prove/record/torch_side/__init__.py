"""The torch model: run here and watched, or read from a dump."""
