"""Regressions whose posterior is far from Gaussian in many directions: Hamiltonian dynamics on all rows (spec 5t)."""
