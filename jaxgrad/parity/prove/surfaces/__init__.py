"""The five surfaces of a proof: what is compared on each, where it fails first, and why."""
