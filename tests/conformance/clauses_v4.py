"""Every numbered statement of MQTT 3.1.1 (OASIS Standard, 29 October 2014, appendix B), each in our own words.

A line is: number without "MQTT-", whose rule it is, what it asks. `clauses.py` tells the three parties apart. After a
bar stands why a rule of the client has no test here. The numbers 3.1.2-7 and 3.8.3-4 are misprinted in the appendix
and stand here as meant.
"""

from typing import Final

TABLE: Final = """
1.5.3-1   guard   Text is well-formed UTF-8 without surrogates; anything else ends the link.
1.5.3-2   guard   Text has no NUL character; one ends the link.
1.5.3-3   server  A byte order mark inside text is a character like any other and stays where it is.
2.2.2-1   guard   Reserved bits of a fixed header have the value the table gives them.
2.2.2-2   guard   Wrong flags end the link.
2.3.1-1   guard   SUBSCRIBE, UNSUBSCRIBE and PUBLISH above QoS 0 have a packet identifier other than zero.
2.3.1-2   client  A client takes an unused identifier for each new packet. | 2.3.1-4 is the same for the server.
2.3.1-3   client  A client that resends a packet keeps its identifier. | 2.3.1-4 is the same for the server.
2.3.1-4   server  The server's PUBLISH above QoS 0 has an unused identifier and keeps it when it is sent again.
2.3.1-5   server  A PUBLISH of QoS 0 has no packet identifier.
2.3.1-6   server  PUBACK, PUBREC and PUBREL carry the identifier of their PUBLISH.
2.3.1-7   server  SUBACK and UNSUBACK carry the identifier of their request.
3.1.0-1   guard   The first packet of a link is CONNECT.
3.1.0-2   guard   A second CONNECT on one link is a protocol violation and ends the link.
3.1.2-1   guard   A CONNECT with another protocol name is not treated as one of this protocol.
3.1.2-2   guard   A level nobody here speaks is answered with return code 1, then the link ends.
3.1.2-3   guard   The reserved bit of the connect flags is zero; anything else ends the link.
3.1.2-4   server  Without Clean Session the session goes on, or a new one is made, and it outlives the link.
3.1.2-5   server  A session without its client stores QoS 1 and 2 messages for its subscriptions.
3.1.2-6   server  Clean Session throws an old session away; the new one ends with its link and is never taken up again.
3.1.2-7   server  Retained messages are not part of a session and do not end with it.
3.1.2-8   server  A will is kept with its link and goes out when the link ends, unless DISCONNECT withdrew it.
3.1.2-9   guard   With the will flag, topic and message of the will are there, and its QoS and retain are used.
3.1.2-10  server  A will that was published or withdrawn is forgotten.
3.1.2-11  guard   Without the will flag there is no will QoS, no will retain, no will topic and no will message.
3.1.2-12  server  Without the will flag no will goes out.
3.1.2-13  guard   Without a will its QoS is zero.
3.1.2-14  guard   The QoS of a will is 0, 1 or 2, never 3.
3.1.2-15  guard   Without a will its retain flag is zero.
3.1.2-16  server  A will without retain is published as an ordinary message.
3.1.2-17  server  A will with retain is published as a retained message.
3.1.2-18  guard   No user name follows when its flag is zero.
3.1.2-19  guard   A user name follows when its flag is one.
3.1.2-20  guard   No password follows when its flag is zero.
3.1.2-21  guard   A password follows when its flag is one.
3.1.2-22  guard   There is no password without a user name.
3.1.2-23  client  A client with a keep alive pings when it has nothing to send. | The server sees silence: 3.1.2-24.
3.1.2-24  server  One and a half keep alives of silence end the link as if the network had failed.
3.1.3-1   guard   The fields of a CONNECT payload stand in their order.
3.1.3-2   server  A session belongs to its client identifier.
3.1.3-3   guard   The client identifier is there and comes first in the payload.
3.1.3-4   guard   The client identifier is correct text.
3.1.3-5   server  Identifiers of 1 to 23 letters and digits are welcome.
3.1.3-6   server  An empty client identifier gets a unique one from the server, used as if the client had sent it.
3.1.3-7   guard   A client without an identifier asks for a clean session.
3.1.3-8   server  No identifier and no clean session is answered with return code 2, then the link ends.
3.1.3-9   server  A client identifier that is refused is answered with return code 2, then the link ends.
3.1.3-10  guard   The topic of a will is correct text.
3.1.3-11  guard   The user name is correct text.
3.1.4-1   guard   A CONNECT that is not well formed ends the link without a CONNACK.
3.1.4-2   server  A second link of a client ends the first one.
3.1.4-3   server  An accepted CONNECT is treated as its Clean Session says.
3.1.4-4   server  An accepted CONNECT is answered with CONNACK 0.
3.1.4-5   server  What follows a refused CONNECT is not looked at.
3.2.0-1   server  The first packet to a client is CONNACK.
3.2.2-1   server  Clean Session is answered with Session Present 0 and return code 0.
3.2.2-2   server  Session Present is 1 where a session was stored.
3.2.2-3   server  Session Present is 0 where none was.
3.2.2-4   server  A refusing CONNACK has Session Present 0.
3.2.2-5   server  A refusing CONNACK is followed by the end of the link.
3.2.2-6   server  Where no return code fits, the link ends without a CONNACK.
3.3.1-1   server  A PUBLISH that is sent again has DUP set.
3.3.1-2   server  DUP is never set at QoS 0.
3.3.1-3   server  DUP on the way out has nothing to do with DUP on the way in.
3.3.1-4   guard   QoS 3 does not exist and ends the link.
3.3.1-5   server  A retained message is stored with its QoS for later subscribers.
3.3.1-6   server  A new subscription gets the last retained message of every topic that matches.
3.3.1-7   server  A retained message of QoS 0 takes the place of what was retained before.
3.3.1-8   server  A message sent because of a new subscription has the retain flag.
3.3.1-9   server  A message sent to a subscription that stood already has not, however it came in.
3.3.1-10  server  An empty retained message removes what was retained and reaches subscribers like any other.
3.3.1-11  server  An empty message is never retained.
3.3.1-12  server  A message without retain leaves what is retained as it is.
3.3.2-1   guard   The topic comes first in a PUBLISH and is correct text.
3.3.2-2   guard   The topic of a PUBLISH has no wildcards.
3.3.2-3   server  The topic of a message matches the filter it is delivered for.
3.3.4-1   server  A PUBLISH is answered as its QoS asks: nothing, PUBACK or PUBREC.
3.3.5-1   server  Where filters of a client overlap, the highest granted QoS counts.
3.3.5-2   server  A PUBLISH that is not permitted is acknowledged all the same, or ends the link.
3.6.1-1   guard   The low bits of PUBREL are 0010; anything else ends the link.
3.8.1-1   guard   The low bits of SUBSCRIBE are 0010; anything else ends the link.
3.8.3-1   guard   The filters of SUBSCRIBE are correct text.
3.8.3-2   server  Filters with wildcards are refused where wildcards are not served.
3.8.3-3   guard   SUBSCRIBE has at least one filter.
3.8.3-4   guard   Reserved bits beside the QoS of a filter are zero and the QoS is not 3; anything else ends the link.
3.8.4-1   server  SUBSCRIBE is answered with SUBACK.
3.8.4-2   server  SUBACK has the identifier of its SUBSCRIBE.
3.8.4-3   server  The same filter again replaces the subscription, sends retained messages again and interrupts nothing.
3.8.4-4   server  Several filters in one SUBSCRIBE act like one SUBSCRIBE each, with one SUBACK.
3.8.4-5   server  SUBACK has one return code per filter: the QoS granted or a failure.
3.8.4-6   server  A message goes out with the lower of its own QoS and the one granted.
3.9.3-1   server  The return codes of SUBACK are in the order of the filters.
3.9.3-2   server  SUBACK uses return codes 0, 1, 2 and 0x80 only.
3.10.1-1  guard   The low bits of UNSUBSCRIBE are 0010; anything else ends the link.
3.10.3-1  guard   The filters of UNSUBSCRIBE are correct text.
3.10.3-2  guard   UNSUBSCRIBE has at least one filter.
3.10.4-1  server  A subscription goes if its filter is the same, byte for byte.
3.10.4-2  server  After UNSUBSCRIBE nothing new is delivered for the filter.
3.10.4-3  server  What was under way at UNSUBSCRIBE is delivered to its end.
3.10.4-4  server  UNSUBSCRIBE is answered with UNSUBACK of the same identifier.
3.10.4-5  server  UNSUBACK comes even if nothing was deleted.
3.10.4-6  server  Several filters in one UNSUBSCRIBE act like one UNSUBSCRIBE each, with one UNSUBACK.
3.12.4-1  server  PINGREQ is answered with PINGRESP.
3.14.1-1  guard   The low bits of DISCONNECT are zero; anything else ends the link.
3.14.4-1  guard   Who sent DISCONNECT closes the link; the server does not wait for it.
3.14.4-2  guard   Nothing is sent after DISCONNECT; the server does not look at it.
3.14.4-3  server  DISCONNECT withdraws the will.
4.1.0-1   server  The state of a session is kept as long as the session lasts.
4.1.0-2   server  A session lasts at least as long as its link.
4.3.1-1   server  QoS 0 goes out with QoS 0 and without DUP.
4.3.2-1   server  QoS 1 takes an unused identifier, goes out without DUP and is unacknowledged until PUBACK.
4.3.2-2   server  A QoS 1 message that arrived is answered with PUBACK; then the same identifier is a new message.
4.3.3-1   server  QoS 2 out: unused identifier, no DUP, PUBREL upon PUBREC, no PUBLISH after PUBREL.
4.3.3-2   server  QoS 2 in: PUBREC, no second delivery before PUBREL, PUBCOMP, then the identifier is new.
4.4.0-1   server  A client that returns to its session gets what is unacknowledged, with the same identifiers.
4.5.0-1   server  A message that is owned is added to every session with a matching subscription.
4.5.0-2   client  A client acknowledges what it gets whether it uses it or not. | Happens in the client.
4.6.0-1   server  What is sent again is sent in its first order.
4.6.0-2   server  PUBACKs leave in the order of their PUBLISHes.
4.6.0-3   server  PUBRECs leave in the order of their PUBLISHes.
4.6.0-4   server  PUBRELs leave in the order of their PUBRECs.
4.6.0-5   server  Every topic is ordered by default.
4.6.0-6   server  Messages of one client on one topic and QoS are delivered in the order they came.
4.7.1-1   guard   Wildcards are for filters, not for topics.
4.7.1-2   guard   # stands alone or behind a separator, and last.
4.7.1-3   guard   + takes a whole level.
4.7.2-1   server  A filter that begins with a wildcard does not match a topic that begins with $.
4.7.3-1   guard   Topics and filters have at least one character.
4.7.3-2   guard   Topics and filters have no NUL.
4.7.3-3   server  Topics and filters have at most 65,535 bytes.
4.7.3-4   server  Topics and filters are compared as they are, nothing normalised.
4.8.0-1   server  A protocol violation ends the link it came on.
4.8.0-2   server  A passing fault while a packet is treated ends the link it came on.
6.0.0-1   guard   MQTT travels in binary WebSocket frames; any other data frame ends the link.
6.0.0-2   server  Packets and WebSocket frames need not begin or end together.
6.0.0-3   guard   A client offers the subprotocol mqtt.
6.0.0-4   server  The subprotocol chosen is mqtt.
7.0.0-1   client  A server that also dials other servers is a conforming client. | Roost's broker dials nobody.
7.0.0-2   server  Nothing outside of the specification is needed to talk to the server.
7.1.1-1   server  An ordered, lossless stream of bytes is enough to carry the protocol.
7.1.2-1   client  A client can use an ordered, lossless stream of bytes. | 7.1.1-1 is the same for the server.
"""
