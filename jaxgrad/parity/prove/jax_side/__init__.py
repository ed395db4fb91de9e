"""The JAX port: its program, its data flow, its rounding."""
