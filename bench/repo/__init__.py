"""Figures of repos: how fast they take in, pass on and tell, and what that costs."""
