"""What the user's process sees and must not notice: progress, interrupts, forks, BLAS threads."""
