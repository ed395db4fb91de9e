"""What the precision surface compares: roundings, float32, and branches on a dtype."""
