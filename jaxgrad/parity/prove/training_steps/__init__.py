"""What the updates surface compares: buffers, weights, averages and moments after each step."""
