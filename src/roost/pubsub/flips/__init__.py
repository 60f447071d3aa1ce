"""FLIPS: topics without a broker [Valera and Cameron], over hICN and over NDN names; `flips.py` is the machine."""
