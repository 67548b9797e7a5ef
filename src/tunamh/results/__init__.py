"""From chains to results: the DataTree, its summary, R-hat and effective draws, files."""
