"""The door to Kafka."""
