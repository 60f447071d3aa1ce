"""The compiled half of the build: which modules mypyc turns into C. Everything else is in pyproject.toml.

The same source runs interpreted (`PYTHONPATH=src`) and compiled (installed). Without a C compiler, or with
`ROOST_PURE=1`, nothing is compiled and everything still works, only slower.
"""

import os
import shutil
import sys
import sysconfig
from pathlib import Path

from setuptools import Extension, setup

# The hot modules, the one list of them. Calls between them are C calls. A module belongs here when a figure of
# `make bench` says so.
HOT = [
    "src/roost/broker/access.py",
    "src/roost/broker/answers.py",
    "src/roost/broker/broker.py",
    "src/roost/broker/buffers.py",
    "src/roost/broker/choosing.py",
    "src/roost/broker/core.py",
    "src/roost/broker/delivery.py",
    "src/roost/broker/emerging.py",
    "src/roost/broker/entering.py",
    "src/roost/broker/explaining.py",
    "src/roost/broker/filters.py",
    "src/roost/broker/goodbye.py",
    "src/roost/broker/handing.py",
    "src/roost/broker/handlers/auth.py",
    "src/roost/broker/handlers/connect.py",
    "src/roost/broker/handlers/disconnect.py",
    "src/roost/broker/handlers/dispatch.py",
    "src/roost/broker/handlers/pingreq.py",
    "src/roost/broker/handlers/puback.py",
    "src/roost/broker/handlers/pubcomp.py",
    "src/roost/broker/handlers/publish.py",
    "src/roost/broker/handlers/pubrec.py",
    "src/roost/broker/handlers/pubrel.py",
    "src/roost/broker/handlers/subscribe.py",
    "src/roost/broker/handlers/unsubscribe.py",
    "src/roost/broker/handlers/welcome.py",
    "src/roost/broker/handout.py",
    "src/roost/broker/insertion.py",
    "src/roost/broker/keeping.py",
    "src/roost/broker/ledger.py",
    "src/roost/broker/lifetimes.py",
    "src/roost/broker/limits.py",
    "src/roost/broker/link.py",
    "src/roost/broker/loading.py",
    "src/roost/broker/macros/macros.py",
    "src/roost/broker/macros/processing.py",
    "src/roost/broker/memory.py",
    "src/roost/broker/message.py",
    "src/roost/broker/message_rows.py",
    "src/roost/broker/minting.py",
    "src/roost/broker/packets/acks.py",
    "src/roost/broker/packets/auth.py",
    "src/roost/broker/packets/connack.py",
    "src/roost/broker/packets/connect.py",
    "src/roost/broker/packets/disconnect.py",
    "src/roost/broker/packets/fields.py",
    "src/roost/broker/packets/framing.py",
    "src/roost/broker/packets/kept.py",
    "src/roost/broker/packets/ping.py",
    "src/roost/broker/packets/properties.py",
    "src/roost/broker/packets/publish.py",
    "src/roost/broker/packets/subscribe.py",
    "src/roost/broker/packets/unsubscribe.py",
    "src/roost/broker/patterns.py",
    "src/roost/broker/permissions.py",
    "src/roost/broker/queueing.py",
    "src/roost/broker/readable.py",
    "src/roost/broker/retained.py",
    "src/roost/broker/routes.py",
    "src/roost/broker/routing.py",
    "src/roost/broker/rows.py",
    "src/roost/broker/session.py",
    "src/roost/broker/session_rows.py",
    "src/roost/broker/shared.py",
    "src/roost/broker/signing.py",
    "src/roost/broker/statistics.py",
    "src/roost/broker/succession.py",
    "src/roost/broker/system.py",
    "src/roost/broker/timers.py",
    "src/roost/broker/trees.py",
    "src/roost/broker/wills.py",
    "src/roost/forwarding/counters.py",
    "src/roost/forwarding/faces.py",
    "src/roost/forwarding/fib.py",
    "src/roost/forwarding/forwarder.py",
    "src/roost/forwarding/hints.py",
    "src/roost/forwarding/nonces.py",
    "src/roost/forwarding/outbox.py",
    "src/roost/forwarding/pit.py",
    "src/roost/forwarding/routes.py",
    "src/roost/forwarding/store.py",
    "src/roost/forwarding/strategy.py",
    "src/roost/forwarding/strategy_choice.py",
    "src/roost/forwarding/strategy_failover.py",
    "src/roost/forwarding/timers.py",
    "src/roost/hicn/checksum.py",
    "src/roost/hicn/fib.py",
    "src/roost/hicn/forwarder.py",
    "src/roost/hicn/head.py",
    "src/roost/hicn/label.py",
    "src/roost/hicn/lately.py",
    "src/roost/hicn/lifetime.py",
    "src/roost/hicn/manifest.py",
    "src/roost/hicn/name.py",
    "src/roost/hicn/packet.py",
    "src/roost/hicn/signature.py",
    "src/roost/hicn/strategy.py",
    "src/roost/hicn/table.py",
    "src/roost/host/alarm.py",
    "src/roost/host/clock.py",
    "src/roost/host/framing.py",
    "src/roost/host/mqtt/leaving.py",
    "src/roost/host/mqtt/link.py",
    "src/roost/host/mqtt/links.py",
    "src/roost/host/mqtt/loop.py",
    "src/roost/host/mqtt/outbox.py",
    "src/roost/host/mqtt/respite.py",
    "src/roost/host/mqtt/server.py",
    "src/roost/host/rocks_layout.py",
    "src/roost/host/stretch_packets.py",
    "src/roost/machine/bucket.py",
    "src/roost/naming/component.py",
    "src/roost/naming/name.py",
    "src/roost/naming/number.py",
    "src/roost/process/dependencies.py",
    "src/roost/process/javascript.py",
    "src/roost/process/loaded.py",
    "src/roost/process/macro.py",
    "src/roost/process/native/compiled.py",
    "src/roost/process/native/tier.py",
    "src/roost/process/parsing.py",
    "src/roost/process/processor.py",
    "src/roost/process/runner.py",
    "src/roost/process/seeding.py",
    "src/roost/process/series.py",
    "src/roost/process/trace.py",
    "src/roost/process/trigger.py",
    "src/roost/process/wildcards.py",
    "src/roost/process/window.py",
    "src/roost/pubsub/blobs/mapped_sync.py",
    "src/roost/pubsub/flips/content_store.py",
    "src/roost/pubsub/flips/hicn_binding.py",
    "src/roost/pubsub/flips/identifiers.py",
    "src/roost/pubsub/flips/interest_cache.py",
    "src/roost/pubsub/flips/payload.py",
    "src/roost/pubsub/flips/publishing.py",
    "src/roost/pubsub/flips/ring.py",
    "src/roost/pubsub/flips/subscribing.py",
    "src/roost/pubsub/flips/subscription.py",
    "src/roost/pubsub/repos/events.py",
    "src/roost/pubsub/repos/recording.py",
    "src/roost/repo/holding.py",
    "src/roost/repo/holdings.py",
    "src/roost/repo/intervals.py",
    "src/roost/repo/numbering.py",
    "src/roost/repo/record.py",
    "src/roost/repo/shelving.py",
    "src/roost/sync/bloom.py",
    "src/roost/sync/dataset.py",
    "src/roost/sync/iblt.py",
    "src/roost/sync/murmur.py",
    "src/roost/sync/state_vector.py",
    "src/roost/sync/svs.py",
    "src/roost/sync/svs_catchup.py",
    "src/roost/sync/svs_interest.py",
    "src/roost/sync/svs_own.py",
    "src/roost/sync/svs_teller.py",
    "src/roost/sync/svs_window.py",
    "src/roost/sync/sync_state.py",
    "src/roost/sync/vector_format.py",
    "src/roost/wire/data.py",
    "src/roost/wire/delegation.py",
    "src/roost/wire/envelope.py",
    "src/roost/wire/interest.py",
    "src/roost/wire/lp.py",
    "src/roost/wire/signature.py",
    "src/roost/wire/tlv.py",
    "src/roost/wire/values.py",
]
MQTT = ("src/roost/broker/", "src/roost/host/mqtt/")


def why_interpreted() -> str | None:
    """Say what stands in the way of compiling, or None if nothing does."""
    if os.environ.get("ROOST_PURE", "") not in {"", "0"}:
        return "ROOST_PURE is set"
    compiler = (os.environ.get("CC") or sysconfig.get_config_var("CC") or "cc").split()[0]
    if shutil.which(compiler) is None:
        return f"there is no C compiler ({compiler})"
    if not Path(sysconfig.get_path("include"), "Python.h").is_file():
        return "the headers of this Python (Python.h) are not installed"
    return None


def compiled() -> list[Extension]:
    """Translate the hot modules to C, and hand setuptools the extensions to build."""
    reason = why_interpreted()
    if reason:
        print(f"setup.py: {reason}, so roost is installed interpreted")
        return []
    absent = [path for path in HOT if not Path(path).is_file()]
    if absent:
        sys.exit(f"setup.py: HOT names files that do not exist: {', '.join(absent)}. Correct the list in setup.py.")
    from mypyc.build import mypycify  # needs the compiler chain, which an interpreted install does not have

    # Two C files, so the C compiler can inline across modules, and two cores have something to do.
    mqtt = [path for path in HOT if path.startswith(MQTT)]
    rest = [path for path in HOT if not path.startswith(MQTT)]
    groups: list[tuple[list[str], str | None]] = [(rest, "roost"), (mqtt, "roost_mqtt")]
    return mypycify(HOT, opt_level="3", debug_level="0", separate=groups, multi_file=False)


def forget_stale(extensions: list[Extension]) -> None:
    """Drop from the reused build folder what this build does not make: deleted modules must not be installed again."""
    suffix = sysconfig.get_config_var("EXT_SUFFIX")
    for library in Path("build").glob("lib*"):
        wanted = {library / (extension.name.replace(".", "/") + suffix) for extension in extensions}
        for path in library.rglob("*"):
            if path.is_file() and path not in wanted:
                path.unlink()


extensions = compiled()
forget_stale(extensions)
setup(ext_modules=extensions, options={"build_ext": {"parallel": 2}})
