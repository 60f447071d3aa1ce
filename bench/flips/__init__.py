"""FLIPS beside mosquitto in the same namespaces, on a medium like 802.11g, and its NDN binding beside that to hICN."""
