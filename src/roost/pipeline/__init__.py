"""Spark: a group as source, a group as sink, the archive, the stages between."""
