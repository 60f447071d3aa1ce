"""The figures of SVS-PS: latency, rate, large objects and mules."""
