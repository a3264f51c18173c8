"""The parts that counters made of buckets share."""
