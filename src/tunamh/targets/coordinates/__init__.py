"""Unknown scales, dispersions and cutpoints: the coordinates of the chain, and what is known in closed form."""
