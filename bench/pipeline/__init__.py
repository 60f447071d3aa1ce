"""The pipeline: Spark reads groups, Spark writes groups."""
