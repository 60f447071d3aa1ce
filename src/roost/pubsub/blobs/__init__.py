"""SVS-PS: brokerless publish and subscribe of blobs over State Vector Sync [SVS-PS §8]; begin with `publisher`."""
