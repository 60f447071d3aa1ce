"""Into a group and out of it: fetching, streams, delivery policies."""
