"""Role-based publishing at the MQTT door: which stream of a topic a subscriber is given, and as which topic."""
