"""Ways of placing records on partitions, one class each: the plain hash, what others publish, and our own plan."""
