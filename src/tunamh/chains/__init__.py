"""A chain: the compiled loop, its state, and the errors that name what it saw."""
