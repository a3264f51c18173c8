"""The experiments of the paper, section 7."""
