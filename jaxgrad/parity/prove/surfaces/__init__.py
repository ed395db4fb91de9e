"""The five surfaces of a proof, each with its verdict, and where and why the models differ."""
