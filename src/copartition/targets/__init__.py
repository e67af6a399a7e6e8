"""Distributions on partitions, one file a distribution."""
