"""Laplace's approximation: the Gaussian, its distance from the posterior, and how that is measured."""
