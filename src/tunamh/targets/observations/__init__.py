"""The rows of a regression: from a user's arrays, tables or source to blocks of a design."""
