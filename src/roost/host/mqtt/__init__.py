"""The shell of the MQTT broker: sockets, TLS, WebSocket, disk and configuration around `roost.broker`'s machine.

`loop` reads all connections and `outbox` writes them, `links` knows them, `doors` (`listener`) lets them in, `pipes`
(`tls`, `websocket`) is what may stand between a socket and the machine. `rows` is the disk, `authenticating` finds out
who somebody is, `server` carries out what the machine wants, `running` makes a whole broker of a `config`.
"""
