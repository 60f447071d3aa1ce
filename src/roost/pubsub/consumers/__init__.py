"""A consumer: what it wishes for, where it begins, what is fetched, and what is delivered by which policy."""
