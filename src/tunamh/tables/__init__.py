"""Any data frame, array or sparse matrix, as columns of numbers and of codes."""
