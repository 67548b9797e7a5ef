"""Chains: kernels, the compiled loop that makes their steps, the state of a chain, and its errors."""
