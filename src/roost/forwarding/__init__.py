"""An NDN forwarder as a machine: PIT, FIB, content store, strategies, management."""
