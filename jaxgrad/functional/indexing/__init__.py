"""Reading, writing, ordering and rearranging elements."""
