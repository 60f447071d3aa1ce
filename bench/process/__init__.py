"""Figures of macros and roles: triggers a second, latency, the cost of many macros, and of a decision."""
