"""What is counted below `$SYS/broker/` (`docs/mqtt.md`), by the name that Prometheus has for it, its kind and its help.

Every end of a topic that says a number stands here once, or in `LEFT_OUT`, for it is the sum or the name of others.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Final

from roost.web.exposition import COUNTER, GAUGE


@dataclass(frozen=True, slots=True)
class Metric:
    """How one number is exposed."""

    name: str
    help: str

    @property
    def kind(self) -> str:
        """What it is: only counters end in _total."""
        return COUNTER if self.name.endswith("_total") else GAUGE


LEFT_OUT: Final = frozenset({"clients/active", "clients/inactive", "clients/disconnected"})

_NAMES: Final = {
    # MQTT: clients and connections
    "clients/total": ("mqtt_sessions", "Sessions, also of clients that are away"),
    "clients/connected": ("mqtt_clients", "Clients that are connected"),
    "clients/maximum": ("mqtt_clients_most", "The most clients that were connected at once"),
    "clients/slow": ("mqtt_clients_slow", "Clients that take less than comes for them"),
    "clients/expired": ("mqtt_sessions_expired_total", "Sessions whose clients stayed away too long"),
    "clients/refused": ("mqtt_sessions_refused_total", "Sessions that there was no room for"),
    "clients/refused/user": ("mqtt_sessions_refused_user_total", "Of these, those of users with too many"),
    "clients/taken_over": ("mqtt_sessions_taken_over_total", "Sessions that a second connection took over"),
    "connections/opened": ("mqtt_connections_opened_total", "Connections that were let in"),
    "connections/refused": ("mqtt_connections_refused_total", "Connections that were refused, for whatever reason"),
    "connections/refused/total": ("mqtt_connections_refused_number_total", "Refused: too many in all"),
    "connections/refused/address": ("mqtt_connections_refused_address_total", "Refused: too many of one address"),
    "connections/refused/rate": ("mqtt_connections_refused_rate_total", "Refused: an address connects too often"),
    "connections/refused/failures": ("mqtt_connections_refused_failures_total", "Refused: too many wrong passwords"),
    "connections/refused/user": ("mqtt_connections_refused_user_total", "Refused: too many of one user"),
    "connections/refused/descriptors": ("mqtt_connections_refused_descriptors_total", "Refused: no descriptors left"),
    "connections/refused/full": ("mqtt_connections_refused_full_total", "Refused: as many as the system allows"),
    "connections/refused/handshake": ("mqtt_connections_refused_handshake_total", "Ended: no handshake in time"),
    "connections/addresses/forgotten": ("mqtt_addresses_forgotten_total", "Addresses whose rates were forgotten"),
    "connections/ended/errors": ("mqtt_connections_ended_errors_total", "Ended: the client broke the protocol"),
    "connections/ended/bytes": ("mqtt_connections_ended_bytes_total", "Ended: connections held too many bytes"),
    "connections/bytes": ("mqtt_connections_held_bytes", "Bytes that connections hold here"),
    "connections/cut": ("mqtt_connections_cut_total", "Cut off: the client did not read"),
    # MQTT: messages
    "messages/received": ("mqtt_packets_received_total", "Packets of any kind"),
    "messages/refused/large": ("mqtt_packets_refused_large_total", "Packets that were too large"),
    "bytes/received": ("mqtt_received_bytes_total", "Bytes that came"),
    "bytes/sent": ("mqtt_sent_bytes_total", "Bytes that were sent"),
    "publish/messages/received": ("mqtt_messages_received_total", "Publications that came"),
    "publish/bytes/received": ("mqtt_messages_received_bytes_total", "Bytes of publications that came"),
    "publish/messages/sent": ("mqtt_messages_sent_total", "Publications that were sent"),
    "publish/messages/dropped": ("mqtt_messages_dropped_total", "Messages that somebody did not get"),
    "publish/messages/dropped/full": ("mqtt_messages_dropped_full_total", "Dropped: the client's queue was full"),
    "publish/messages/dropped/total": ("mqtt_messages_dropped_memory_total", "Dropped: all queues were too large"),
    "publish/messages/dropped/large": ("mqtt_messages_dropped_large_total", "Dropped: larger than the client takes"),
    "publish/messages/expired": ("mqtt_messages_expired_total", "Messages whose time was over"),
    "publish/messages/denied": ("mqtt_messages_denied_total", "Publications without permission"),
    "publish/messages/unfit": ("mqtt_messages_unfit_total", "Publications that can be no readings of their group"),
    "past/left_out": ("mqtt_past_left_out_total", "Messages of a past that a client of 3.1.1 could not tell apart"),
    "store/messages/bytes": ("mqtt_queued_bytes", "Bytes that wait in queues"),
    "store/messages/bytes/largest": ("mqtt_queued_largest_bytes", "Bytes of the largest queue"),
    "acknowledgements/unknown": ("mqtt_acknowledgements_unknown_total", "Acknowledgements of nothing"),
    # MQTT: tables
    "subscriptions/count": ("mqtt_subscriptions", "Subscriptions"),
    "subscriptions/bytes": ("mqtt_subscriptions_bytes", "Bytes of their filters"),
    "subscriptions/refused": ("mqtt_subscriptions_refused_total", "Subscriptions that there was no room for"),
    "shared_subscriptions/count": ("mqtt_shared_subscriptions", "Shared subscriptions"),
    "shared_subscriptions/unwatched": ("mqtt_shared_unwatched_total", "Shares that were too many to watch"),
    "retained messages/count": ("mqtt_retained", "Retained messages"),
    "retained messages/bytes": ("mqtt_retained_bytes", "Bytes of retained messages"),
    "retained messages/refused": ("mqtt_retained_refused_total", "Retained messages that there was no room for"),
    "retained messages/refused/user": ("mqtt_retained_refused_user_total", "Of these, those of users with too much"),
    "wills/bytes": ("mqtt_wills_bytes", "Bytes of wills"),
    "wills/refused": ("mqtt_wills_refused_total", "Wills that there was no room for"),
    "routes/count": ("mqtt_routes", "Topics whose receivers are remembered"),
    "routes/bytes": ("mqtt_routes_bytes", "Bytes of these"),
    "routes/forgotten": ("mqtt_routes_forgotten_total", "Of these, those that were forgotten"),
    "rows/unreadable": ("mqtt_rows_unreadable_total", "Rows of the store that could not be read"),
    "rows/unwritten": ("mqtt_rows_unwritten_total", "Rows that the disk refused"),
    # sessions at other nodes
    "roaming/told": ("roaming_told_total", "What this node told others about sessions"),
    "roaming/large": ("roaming_large_total", "Of that, what was too large"),
    "roaming/overdue": ("roaming_answers_overdue_total", "Answers that waited in vain for a node to answer"),
    "roaming/unheard": ("roaming_answers_unheard_total", "Answers that waited for no node, for too many did"),
    "roaming/wills": ("roaming_wills", "Wills of clients at other nodes that are known"),
    "roaming/wills/inherited": ("roaming_wills_inherited_total", "Of these, those that were spoken for a lost node"),
    "roaming/wills/forgotten": ("roaming_wills_forgotten_total", "Wills that were told and too many to be kept"),
    "roaming/wills/untold": ("roaming_wills_untold_total", "Wills that other nodes cannot speak"),
    "roaming/nodes": ("roaming_nodes", "Other nodes that are known"),
    "roaming/nodes/forgotten": ("roaming_nodes_forgotten_total", "Other nodes that were forgotten"),
    "roaming/receipts": ("roaming_receipts", "Receipts of messages that are kept"),
    "roaming/receipts/forgotten": ("roaming_receipts_forgotten_total", "Receipts that were forgotten"),
    "roaming/receipts/recognised": ("roaming_receipts_recognised_total", "Messages that had come before"),
    # passwords
    "authentication/passwords/remembered": ("mqtt_passwords_remembered_total", "Passwords not hashed again"),
    "authentication/passwords/refused": ("mqtt_passwords_refused_total", "Passwords that too many waited with"),
    "authentication/passwords/failed": ("mqtt_passwords_failed_total", "Passwords that there was no memory for"),
    "authentication/hook/refused": ("mqtt_hook_refused_total", "Questions to the hook that were too many"),
    "authentication/hook/failed": ("mqtt_hook_failed_total", "Failures of the hook"),
    # groups
    "groups/messages/inserted": ("group_messages_inserted_total", "Messages that became readings of a group"),
    "groups/messages/uncopied": ("group_messages_uncopied", "Messages that wait for copies elsewhere"),
    "groups/messages/refused": ("group_messages_refused_total", "Messages that did not become readings"),
    "groups/messages/refused/full": ("group_messages_refused_full_total", "Of those, for so many waited"),
    "groups/messages/passed_over": ("group_messages_passed_over_total", "Readings that are no messages"),
    "groups/messages/incomplete": ("group_messages_incomplete_total", "Large messages that lacked parts"),
    "groups/messages/altered": ("group_messages_altered_total", "Large messages whose parts were others"),
    "groups/messages/sealed": ("group_messages_sealed_total", "Readings that were sealed for roles"),
    "groups/messages/locked": ("group_messages_locked_total", "Sealed readings that could not be opened here"),
    "groups/keys": ("group_keys_total", "Content keys that were wrapped for readers"),
    "groups/keys/forgotten": ("group_keys_forgotten_total", "Content keys that there was no room for"),
    # roles
    "roles/documents": ("roles_documents", "Role-based publishing specifications"),
    "roles/documents/untold": ("roles_documents_untold", "Of these, those that other nodes were not told of yet"),
    "macros/waiting": ("macro_readings_waiting", "Readings that wait for macros"),
    "macros/left_out": ("macro_readings_left_out_total", "Readings that found no room to wait for macros"),
    "roles/held": ("roles_held", "Messages that wait until somebody's roles are known"),
    "roles/held/lost": ("roles_held_lost_total", "Such messages that were lost"),
    "roles/held/refused": ("roles_held_refused_total", "Such messages that there was no room for"),
    "roles/lookups": ("roles_lookups_total", "Times that somebody's roles were asked for"),
    "roles/lookups/failed": ("roles_lookups_failed_total", "Of these, those that failed"),
    "roles/lookups/refused": ("roles_lookups_refused_total", "Of these, those that were too many"),
    # FLIPS
    "flips/faces": ("flips_faces", "Faces of FLIPS"),
    "flips/refused": ("flips_packets_refused_total", "Packets of FLIPS that were refused"),
    "flips/cache/hits": ("flips_cache_hits_total", "Requests of FLIPS that were answered from here"),
    "flips/bridges/begun_again": ("flips_bridges_begun_again_total", "Bridges that had to begin again"),
    "flips/bridges/skipped": ("flips_bridges_skipped_total", "Contents and readings that could not be bridged"),
    # HTTP
    "http/connections": ("http_connections", "Connections that are open"),
    "http/connections/refused": ("http_connections_refused_total", "Connections that were refused"),
    "http/requests": ("http_requests_total", "Requests"),
    "http/requests/malformed": ("http_requests_malformed_total", "What was no HTTP"),
    "http/requests/failed": ("http_requests_failed_total", "Requests that the node failed to answer"),
    "http/requests/refused/full": ("http_requests_refused_full_total", "Requests that were too many at once"),
    "http/requests/refused/unauthorized": ("http_requests_refused_unauthorized_total", "Requests of nobody known"),
    "http/requests/refused/scope": ("http_requests_refused_scope_total", "Requests with a token for other things"),
    "http/following": ("http_following", "Clients that follow what comes"),
    "http/following/ended": ("http_following_ended_total", "Such clients that would not be let in any more"),
    "http/readings/dropped": ("http_readings_dropped_total", "Readings that came too quickly for such clients"),
    "http/passwords/remembered": ("http_passwords_remembered_total", "Passwords not hashed again"),
    "http/passwords/refused": ("http_passwords_refused_total", "Passwords that too many waited with"),
    "http/passwords/failed": ("http_passwords_failed_total", "Passwords that there was no memory for"),
    "http/sessions": ("http_sessions", "Log-ins that hold"),
    "http/sessions/opened": ("http_sessions_opened_total", "Log-ins"),
    "http/sessions/crowded_out": ("http_sessions_crowded_out_total", "Log-ins that made room for others"),
    "http/live": ("http_live", "Clients of /live and /events"),
    "http/live/refused": ("http_live_refused_total", "Such clients that were too many"),
    "http/live/dropped": ("http_live_readings_dropped_total", "Readings that came too quickly for such clients"),
    "index/streams": ("index_streams", "Streams that the page and the API know"),
    "index/streams/stale": ("index_streams_stale", "Of these, those that are silent for too long"),
    "index/streams/refused": ("index_streams_refused_total", "Readings of streams beyond the bound"),
    "http/history/blocks": ("http_history_blocks_total", "Blocks of history that were read and decoded"),
    "http/history/remembered": ("http_history_remembered_total", "Blocks of history that were remembered"),
    "http/asked/refused": ("http_asked_refused_total", "Questions to other nodes beyond the bound"),
    "alerts": ("alerts", "Alerts that hold now"),
    "alerts/raised": ("alerts_raised_total", "Alerts that were raised"),
    "http/tokens": ("http_tokens", "Tokens of the API"),
}

METRICS: Final = {end: Metric(f"roost_{name}", said) for end, (name, said) in _NAMES.items()}
