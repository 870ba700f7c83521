"""Hunting for the best placement: decisions (no I/O), their simulation, and the loop that acts."""
