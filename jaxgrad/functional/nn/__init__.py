"""Linear maps, convolutions, attention, normalization, embeddings, resizing."""
