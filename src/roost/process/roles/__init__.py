"""Roles: which stream of a topic a user gets, how the user's roles are found, and what is held until they are."""
