"""Taylor expansions of the rows: sums in closed form, remainders, and bounds of these."""
