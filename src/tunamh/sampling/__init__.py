"""The functions `sample`, `resume`, `laplace` and `evidence`, and the runs that they start."""
