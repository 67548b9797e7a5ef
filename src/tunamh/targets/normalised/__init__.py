"""A regression's likelihood and prior as densities, with all their constants."""
