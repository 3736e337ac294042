"""Parts of the benchmark about studies and trainings."""
