"""What results tell beyond their mean: convergence, efficiency, robustness, and what the clusters are."""
