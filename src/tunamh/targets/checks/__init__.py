"""What is looked at before a target is sampled: whether there is a posterior, and what a person should be told."""
