"""Sources of rows: reading tables, packing rows, drawing row numbers."""
