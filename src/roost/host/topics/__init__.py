"""Topics without a broker, for people: FLIPS (`roost.pubsub.flips`) over hybrid ICN or over NDN names.

async with roost.flips() as topics:                      `face.flips()` is the same over NDN
    await topics.register("home/temp", interval_ms=1000)
    await topics.publish("home/temp", b"21.5")
    async for content in topics.subscribe("home/temp"): ...
"""

from roost.host.topics.feed import Content, TopicFeed
from roost.host.topics.hicn import HicnTopics
from roost.host.topics.ndn import NdnTopics
from roost.host.topics.opening import flips
from roost.host.topics.topics import Topics

__all__ = ["Content", "HicnTopics", "NdnTopics", "TopicFeed", "Topics", "flips"]
