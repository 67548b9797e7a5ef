"""Regressions under priors that are Gaussian given unknown scales."""
