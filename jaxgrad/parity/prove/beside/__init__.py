"""Checks beside the six surfaces: other inputs, masks, bounds, conjugates."""
