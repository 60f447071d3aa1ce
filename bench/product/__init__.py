"""Figures of the whole: how soon one sees something, what it costs to keep it running, and how fast the page is."""
