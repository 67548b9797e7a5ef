"""The marginal likelihood of a model: its parts, its estimate, and what results keep of it."""
