"""MQTT control packets, bytes to fields and back, for a server of MQTT 3.1.1 and 5.0.

A module is a packet: what a client sends is parsed strictly, what a server sends is built. `framing` cuts the stream
into packets, `fields` reads strings and numbers, `properties` and `kept` read the properties of 5.0, and `reasons` has
the reason codes. A parser raises `Malformed` with the reason code of 5.0, and nothing else, whatever the bytes are.

A clause is cited beside its check, by its id in 5.0 and, where 3.1.1 has another, by that too:
[MQTT-1.5.4-1] [3.1.1 MQTT-1.5.3-1]. What a session or a link remembers is not looked at here.
"""
