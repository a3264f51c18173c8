"""Waves of Gibbons and Tirthapura: deterministic and randomized."""
