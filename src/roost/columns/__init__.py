"""Readings by the hundred thousand, as columns of numbers: what pipelines, the archive and charts are made of."""
