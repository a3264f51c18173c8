"""The engines that count a stream over a window: slices (a table for each slice of time) and cells (the paper's)."""
