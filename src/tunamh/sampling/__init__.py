"""From a target to draws: the front doors `sample`, `resume` and `laplace`, and what a run of theirs does."""
