"""Heavy hitters by name: candidates over time, and their names."""
