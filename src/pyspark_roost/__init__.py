"""Makes `format("roost")` known: PySpark imports every top-level package `pyspark_*` and registers its `DefaultSource`.

It does so in each session, on the driver; nothing has to be called.
"""

from roost.pipeline.source import RoostSource as DefaultSource

__all__ = ["DefaultSource"]
