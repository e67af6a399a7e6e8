"""One chain and two chains, seen from Python: what they do in a step, where they start, how they grow."""
