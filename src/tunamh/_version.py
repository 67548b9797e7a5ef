__version__ = "0.1.0"

DRAWS = "0.2.0"
"""The version that last changed draws for a fixed seed (CHANGELOG): a stored run goes on only where it is the same."""
