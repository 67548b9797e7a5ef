"""Results of runs: the DataTree, the summary, tables of group effects, R-hat and effective draws, files."""
