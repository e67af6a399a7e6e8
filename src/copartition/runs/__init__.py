"""Replicates: what runs many chains or pairs, on which threads, with which random numbers."""
