"""Reading, writing, ordering and rearranging elements of arrays."""
