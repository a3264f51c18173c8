"""Speed, memory and accuracy as ratios against peers that are measured in the same run: `make bench`."""
