"""The figures of sync: sketches and datasets."""
