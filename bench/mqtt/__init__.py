"""The MQTT broker beside mosquitto and aedes, under one load generator in a process of its own."""
