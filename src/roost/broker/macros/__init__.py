"""Macros on a node: what clients publish, refined next to the data by `roost.process`, in the machine of the broker."""
