"""Linear maps, convolutions, attention, normalization, embeddings and resizing."""
