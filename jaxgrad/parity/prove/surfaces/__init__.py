"""The six surfaces of a proof: each yields a verdict, and where and why the models differ."""
