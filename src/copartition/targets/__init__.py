"""Laws on partitions, one file a law."""
