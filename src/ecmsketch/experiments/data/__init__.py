"""The streams that experiments run on."""
