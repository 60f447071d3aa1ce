"""A panel: an outbox on disk, batches to whichever repo is near, and what it collects from sensor modules."""
