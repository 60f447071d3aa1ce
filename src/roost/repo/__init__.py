"""What is kept, and for how long: the store's port, insertion, records, catalogue, retention."""
