"""The cheat sheet: torch, plain JAX and jaxgrad side by side, and the trap in each row."""
