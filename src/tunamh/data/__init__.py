"""Sources of rows: reading tables, packing rows, drawing rows."""
