"""MQTT on the outside, groups and macros on the inside: a broker for MQTT 3.1.1 and 5.0 as a pure machine."""
