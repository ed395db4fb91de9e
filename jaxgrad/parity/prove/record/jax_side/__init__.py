"""The JAX port: its traced program, its data flow, and its casts lifted to float64."""
