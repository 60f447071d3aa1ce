"""Every numbered statement of MQTT 5.0 (OASIS Standard, 7 March 2019, appendix B), each in our own words.

A line is: number without "MQTT-", whose rule it is, what it asks. `clauses.py` tells the three parties apart. After a
bar stands why a rule of the client has no test here.
"""

from typing import Final

TABLE: Final = """
1.5.4-1   guard   Text is well-formed UTF-8 without surrogates.
1.5.4-2   guard   Text has no NUL character.
1.5.4-3   server  A byte order mark inside text is a character like any other and stays where it is.
1.5.5-1   guard   A variable byte integer takes as few bytes as its value needs.
1.5.7-1   guard   Key and value of a pair are both correct text.
2.1.3-1   guard   Reserved bits of a fixed header have the value the table gives them.
2.2.1-2   server  A PUBLISH of QoS 0 has no packet identifier.
2.2.1-3   guard   A client's SUBSCRIBE, UNSUBSCRIBE or PUBLISH above QoS 0 has a packet identifier other than zero.
2.2.1-4   server  The server's PUBLISH above QoS 0 has an identifier that is not zero and not in use.
2.2.1-5   server  PUBACK, PUBREC, PUBREL and PUBCOMP carry the identifier of their PUBLISH.
2.2.1-6   server  SUBACK and UNSUBACK carry the identifier of their request.
2.2.2-1   server  A packet without properties says so by a length of zero.
3.1.0-1   guard   The first packet of a link is CONNECT.
3.1.0-2   guard   A second CONNECT on one link is a protocol error and ends the link.
3.1.2-1   guard   The protocol is called MQTT; any other name ends the link.
3.1.2-2   guard   A version nobody here speaks is answered with 0x84 at most, then the link ends.
3.1.2-3   guard   The reserved bit of the connect flags is zero.
3.1.2-4   server  Clean Start throws an old session away and begins a new one.
3.1.2-5   server  Without Clean Start the session of that client goes on.
3.1.2-6   server  Without Clean Start and without a session a new one is made.
3.1.2-7   server  A will is kept with the session.
3.1.2-8   server  The will goes out once the link is gone and its delay or the session is over, unless it was withdrawn.
3.1.2-9   guard   With the will flag, properties, topic and payload of the will are there.
3.1.2-10  server  A will that was published, or withdrawn by a normal DISCONNECT, is forgotten.
3.1.2-11  guard   Without a will its QoS is zero.
3.1.2-12  guard   The QoS of a will is 0, 1 or 2, never 3.
3.1.2-13  guard   Without a will its retain flag is zero.
3.1.2-14  server  A will without retain is published as an ordinary message.
3.1.2-15  server  A will with retain is published as a retained message.
3.1.2-16  guard   No user name follows when its flag is zero.
3.1.2-17  guard   A user name follows when its flag is one.
3.1.2-18  guard   No password follows when its flag is zero.
3.1.2-19  guard   A password follows when its flag is one.
3.1.2-20  client  A client with a keep alive pings when it has nothing to send. | The server sees silence: 3.1.2-22.
3.1.2-21  client  A client obeys the keep alive it was given. | The server measures by the value it gave: 3.1.2-22.
3.1.2-22  server  One and a half keep alives of silence end the link as if the network had failed.
3.1.2-23  server  A session with an expiry above zero outlives its link.
3.1.2-24  server  No packet to a client is larger than the client allows.
3.1.2-25  server  A message too large for a client is dropped for that client as if it had been sent.
3.1.2-26  server  No alias to a client is above the client's maximum.
3.1.2-27  server  A client that named no alias maximum, or zero, gets no alias.
3.1.2-28  server  Response information goes only to a client that asked for it.
3.1.2-29  server  Who wants no problem information gets reason strings and user properties in few packets only.
3.1.2-30  guard   During an extended authentication a client sends only AUTH and DISCONNECT before its CONNACK.
3.1.3-1   guard   The fields of a CONNECT payload stand in their order.
3.1.3-2   server  A session belongs to its client identifier.
3.1.3-3   guard   The client identifier is there and comes first in the payload.
3.1.3-4   guard   The client identifier is correct text.
3.1.3-5   server  Identifiers of 1 to 23 letters and digits are welcome.
3.1.3-6   server  An empty client identifier gets one of its own from the server.
3.1.3-7   server  The identifier made for a client is told in CONNACK and used as if the client had sent it.
3.1.3-8   server  A client identifier that is refused ends the link, after 0x85 at most.
3.1.3-9   server  A client that is back before the will's delay is over keeps its will unpublished.
3.1.3-10  server  The user properties of a will keep their order.
3.1.3-11  guard   The topic of a will is correct text.
3.1.3-12  guard   The user name is correct text.
3.1.4-1   guard   A CONNECT that is not well formed ends the link.
3.1.4-2   server  A CONNECT that fails a further check ends the link.
3.1.4-3   server  A second link of a client ends the first one with 0x8E.
3.1.4-4   server  An accepted CONNECT is treated as its Clean Start says.
3.1.4-5   server  An accepted CONNECT is answered with CONNACK 0x00.
3.1.4-6   server  What follows a refused CONNECT is not looked at.
3.2.0-1   server  Nothing but AUTH goes to a client before CONNACK.
3.2.0-2   server  A link gets one CONNACK and no second.
3.2.2-1   server  Bits 7 to 1 of the CONNACK flags are zero.
3.2.2-2   server  Clean Start is answered with Session Present 0 and success.
3.2.2-3   server  Without Clean Start, Session Present says whether there was a session, with success.
3.2.2-4   client  A client told of a session it does not know closes the link. | Happens in the client.
3.2.2-5   client  A client told that there is no session drops its own. | Happens in the client.
3.2.2-6   server  A refusing CONNACK has Session Present 0.
3.2.2-7   server  A CONNACK of 0x80 or above is followed by the end of the link.
3.2.2-8   server  CONNACK uses reason codes of its own table.
3.2.2-9   server  A server that does not serve every QoS says in CONNACK up to which it does.
3.2.2-10  server  SUBSCRIBE with any QoS is accepted, whatever the server serves.
3.2.2-11  guard   A client stays below the Maximum QoS it was told.
3.2.2-12  server  A CONNECT with a will of a QoS that is not served is refused and ends the link.
3.2.2-13  server  A CONNECT with a retained will is refused and ends the link where nothing is retained.
3.2.2-14  guard   A client that was told that nothing is retained sends no retain flag.
3.2.2-15  guard   A client's packets are no larger than the server allows.
3.2.2-16  server  An identifier made by the server is told and no other session has it.
3.2.2-17  guard   A client's alias is not above the server's maximum.
3.2.2-18  guard   A client sends no alias where the server allows none.
3.2.2-19  server  A reason string that would make CONNACK too large for the client is left out.
3.2.2-20  server  User properties that would make CONNACK too large for the client are left out.
3.2.2-21  client  A client obeys the keep alive of CONNACK. | The server measures by the value it gave: 3.1.2-22.
3.2.2-22  server  Without a keep alive in CONNACK the server measures by the client's.
3.3.1-1   server  A PUBLISH that is sent again has DUP set.
3.3.1-2   server  DUP is never set at QoS 0.
3.3.1-3   server  DUP on the way out has nothing to do with DUP on the way in.
3.3.1-4   guard   QoS 3 does not exist.
3.3.1-5   server  A retained message replaces the one before it on its topic.
3.3.1-6   server  An empty retained message removes what was retained and reaches subscribers like any other.
3.3.1-7   server  An empty message is never retained.
3.3.1-8   server  A message without retain leaves what is retained as it is.
3.3.1-9   server  Retain Handling 0 sends retained messages at every subscribe.
3.3.1-10  server  Retain Handling 1 sends them only if the subscription is new.
3.3.1-11  server  Retain Handling 2 never sends them.
3.3.1-12  server  Without Retain As Published the flag is cleared on the way out.
3.3.1-13  server  With Retain As Published the flag goes out as it came in.
3.3.2-1   guard   The topic comes first in a PUBLISH and is correct text.
3.3.2-2   guard   The topic of a PUBLISH has no wildcards.
3.3.2-3   server  The topic of a message matches the filter it is delivered for.
3.3.2-4   server  The payload format indicator passes unaltered.
3.3.2-5   server  A copy that expired before its delivery began is deleted.
3.3.2-6   server  The expiry that goes out is lessened by the time the message waited here.
3.3.2-7   server  Aliases end with their link.
3.3.2-8   guard   Nobody uses alias 0.
3.3.2-9   guard   A client's alias is not above the maximum of CONNACK.
3.3.2-10  client  A client takes every alias up to its own maximum. | Happens in the client.
3.3.2-11  server  The server's alias is not above the maximum of CONNECT.
3.3.2-12  server  Every alias from 1 to the maximum of CONNACK is taken.
3.3.2-13  guard   A response topic is correct text.
3.3.2-14  guard   A response topic has no wildcards.
3.3.2-15  server  The response topic passes unaltered.
3.3.2-16  server  Correlation data passes unaltered.
3.3.2-17  server  User properties pass unaltered.
3.3.2-18  server  User properties keep their order.
3.3.2-19  guard   A content type is correct text.
3.3.2-20  server  The content type passes unaltered.
3.3.4-1   server  A PUBLISH is answered as its QoS asks: nothing, PUBACK or PUBREC.
3.3.4-2   server  Where filters of a client overlap, the highest granted QoS counts.
3.3.4-3   server  Where filters of a client overlap, their identifiers go with the message.
3.3.4-4   server  A single copy carries the identifiers of all filters that matched.
3.3.4-5   server  Where a filter gets a copy of its own, that copy carries that filter's identifier.
3.3.4-6   guard   A client's PUBLISH has no subscription identifier.
3.3.4-7   guard   A client keeps to the server's Receive Maximum.
3.3.4-8   client  A client at its limit holds back nothing but PUBLISH. | Happens in the client.
3.3.4-9   server  No more messages than the client's Receive Maximum are under way unacknowledged.
3.3.4-10  server  Only PUBLISH waits for the client's acknowledgements.
3.4.2-1   server  PUBACK uses reason codes of its own table.
3.4.2-2   server  A reason string that would make PUBACK too large for the client is left out.
3.4.2-3   server  User properties that would make PUBACK too large for the client are left out.
3.5.2-1   server  PUBREC uses reason codes of its own table.
3.5.2-2   server  A reason string that would make PUBREC too large for the client is left out.
3.5.2-3   server  User properties that would make PUBREC too large for the client are left out.
3.6.1-1   guard   The low bits of PUBREL are 0010.
3.6.2-1   server  PUBREL uses reason codes of its own table.
3.6.2-2   server  A reason string that would make PUBREL too large for the client is left out.
3.6.2-3   server  User properties that would make PUBREL too large for the client are left out.
3.7.2-1   server  PUBCOMP uses reason codes of its own table.
3.7.2-2   server  A reason string that would make PUBCOMP too large for the client is left out.
3.7.2-3   server  User properties that would make PUBCOMP too large for the client are left out.
3.8.1-1   guard   The low bits of SUBSCRIBE are 0010.
3.8.3-1   guard   The filters of SUBSCRIBE are correct text.
3.8.3-2   guard   SUBSCRIBE has at least one filter.
3.8.3-3   server  With No Local a client does not get what it published itself.
3.8.3-4   guard   No Local on a shared subscription is a protocol error.
3.8.3-5   guard   Reserved bits of the subscription options are zero.
3.8.4-1   server  SUBSCRIBE is answered with SUBACK.
3.8.4-2   server  SUBACK has the identifier of its SUBSCRIBE.
3.8.4-3   server  Subscribing to the same filter again replaces the subscription.
3.8.4-4   server  Replacing with Retain Handling 0 sends retained messages again and loses no message.
3.8.4-5   server  Several filters in one SUBSCRIBE act like one SUBSCRIBE each, with one SUBACK.
3.8.4-6   server  SUBACK has one reason code per filter.
3.8.4-7   server  The reason code is the QoS granted or a failure.
3.8.4-8   server  A message goes out with the lower of its own QoS and the one granted.
3.9.2-1   server  A reason string that would make SUBACK too large for the client is left out.
3.9.2-2   server  User properties that would make SUBACK too large for the client are left out.
3.9.3-1   server  The reason codes of SUBACK are in the order of the filters.
3.9.3-2   server  SUBACK uses reason codes of its own table.
3.10.1-1  guard   The low bits of UNSUBSCRIBE are 0010.
3.10.3-1  guard   The filters of UNSUBSCRIBE are correct text.
3.10.3-2  guard   UNSUBSCRIBE has at least one filter.
3.10.4-1  server  A subscription goes if its filter is the same, character for character.
3.10.4-2  server  After UNSUBSCRIBE nothing new is delivered for the filter.
3.10.4-3  server  What was under way at UNSUBSCRIBE is delivered to its end.
3.10.4-4  server  UNSUBSCRIBE is answered with UNSUBACK.
3.10.4-5  server  UNSUBACK has the identifier of its UNSUBSCRIBE, and comes even if nothing was deleted.
3.10.4-6  server  Several filters in one UNSUBSCRIBE act like one UNSUBSCRIBE each, with one UNSUBACK.
3.11.2-1  server  A reason string that would make UNSUBACK too large for the client is left out.
3.11.2-2  server  User properties that would make UNSUBACK too large for the client are left out.
3.11.3-1  server  The reason codes of UNSUBACK are in the order of the filters.
3.11.3-2  server  UNSUBACK uses reason codes of its own table.
3.12.4-1  server  PINGREQ is answered with PINGRESP.
3.14.0-1  server  No DISCONNECT goes out before a CONNACK that accepts.
3.14.1-1  guard   The low bits of DISCONNECT are zero; anything else is answered with 0x81.
3.14.2-1  server  DISCONNECT uses reason codes of its own table.
3.14.2-2  server  The server's DISCONNECT has no session expiry.
3.14.2-3  server  A reason string that would make DISCONNECT too large for the client is left out.
3.14.2-4  server  User properties that would make DISCONNECT too large for the client are left out.
3.14.4-1  server  Nothing is sent after DISCONNECT.
3.14.4-2  server  Who sent DISCONNECT closes the link.
3.14.4-3  server  A DISCONNECT of 0x00 withdraws the will.
3.15.1-1  guard   The low bits of AUTH are zero.
3.15.2-1  server  AUTH uses reason codes of its own table.
3.15.2-2  server  A reason string that would make AUTH too large for the client is left out.
3.15.2-3  server  User properties that would make AUTH too large for the client are left out.
4.1.0-1   server  No session is discarded while its link is open.
4.1.0-2   server  A session is discarded when its link is closed and its expiry is over.
4.2.0-1   server  An ordered, lossless stream of bytes is enough to carry the protocol.
4.3.1-1   server  QoS 0 goes out with QoS 0 and without DUP.
4.3.2-1   server  QoS 1 takes an unused identifier for every new message.
4.3.2-2   server  QoS 1 goes out the first time with that identifier and without DUP.
4.3.2-3   server  A QoS 1 message stays unacknowledged until its PUBACK.
4.3.2-4   server  A QoS 1 message that arrived is answered with PUBACK once it is owned.
4.3.2-5   server  After PUBACK the same identifier is a new message, DUP or not.
4.3.3-1   server  QoS 2 takes an unused identifier for every new message.
4.3.3-2   server  QoS 2 goes out the first time with that identifier and without DUP.
4.3.3-3   server  A QoS 2 message stays unacknowledged until its PUBREC.
4.3.3-4   server  A PUBREC below 0x80 is answered with PUBREL of the same identifier.
4.3.3-5   server  A PUBREL stays unacknowledged until its PUBCOMP.
4.3.3-6   server  After PUBREL the PUBLISH is not sent again.
4.3.3-7   server  A message that went out does not expire any more.
4.3.3-8   server  A QoS 2 message that arrived is answered with PUBREC once it is owned.
4.3.3-9   server  After a PUBREC of 0x80 or above the same identifier is a new message.
4.3.3-10  server  Until PUBREL the same identifier is the same message: PUBREC again, delivered once.
4.3.3-11  server  PUBREL is answered with PUBCOMP of the same identifier.
4.3.3-12  server  After PUBCOMP the same identifier is a new message.
4.3.3-13  server  The exchange is finished even if the message expired meanwhile.
4.4.0-1   server  A client back at its session gets what is unacknowledged, same identifiers; nothing is resent else.
4.4.0-2   server  An acknowledgement of 0x80 or above ends a message; it is not sent again.
4.5.0-1   server  A message that is owned is added to every session with a matching subscription.
4.5.0-2   client  A client acknowledges what it gets whether it uses it or not. | Happens in the client.
4.6.0-1   server  What is sent again is sent in its first order. (Told to clients; Roost keeps to it as a sender.)
4.6.0-2   server  PUBACKs leave in the order of their PUBLISHes. (Told to clients; Roost keeps to it too.)
4.6.0-3   server  PUBRECs leave in the order of their PUBLISHes. (Told to clients; Roost keeps to it too.)
4.6.0-4   server  PUBRELs leave in the order of their PUBRECs. (Told to clients; Roost keeps to it too.)
4.6.0-5   server  Messages of one client on one topic and QoS are delivered in the order they came.
4.6.0-6   server  Every topic is ordered unless shared.
4.7.0-1   guard   Wildcards are for filters, not for topics.
4.7.1-1   guard   # stands alone or behind a separator, and last.
4.7.1-2   guard   + takes a whole level.
4.7.2-1   server  A filter that begins with a wildcard does not match a topic that begins with $.
4.7.3-1   guard   Topics and filters have at least one character.
4.7.3-2   guard   Topics and filters have no NUL.
4.7.3-3   server  Topics and filters have at most 65,535 bytes.
4.7.3-4   server  Topics and filters are compared as they are, nothing normalised.
4.8.2-1   guard   A shared filter begins with $share/ and a share name of at least one character.
4.8.2-2   guard   A share name has no / + #, and a filter follows it.
4.8.2-3   server  A member of a share gets messages with no more than its granted QoS.
4.8.2-4   server  A QoS 2 message that was under way to a member is finished with that member when it is back.
4.8.2-5   server  If that member's session ends instead, nobody else gets the message.
4.8.2-6   server  A message that a member refuses with 0x80 or above is dropped and goes to nobody else.
4.9.0-1   server  The first quota is above zero and not above the client's Receive Maximum.
4.9.0-2   server  At quota zero nothing above QoS 0 is published.
4.9.0-3   server  At quota zero all other packets are still served.
4.12.0-1  server  An authentication method nobody knows ends the link, after 0x8C or 0x87 at most.
4.12.0-2  server  A server that needs to know more asks by AUTH 0x18.
4.12.0-3  guard   A client answers AUTH with AUTH 0x18.
4.12.0-4  server  A failed authentication ends the link, after a CONNACK of 0x80 or above at most.
4.12.0-5  server  AUTH and the accepting CONNACK name the method of CONNECT.
4.12.0-6  server  Without a method in CONNECT the server sends neither AUTH nor a method.
4.12.0-7  guard   Without a method in CONNECT a client sends no AUTH.
4.12.1-1  guard   Authenticating again uses the first method.
4.12.1-2  server  Authenticating again in vain ends the link.
4.13.1-1  server  A malformed packet or protocol error ends the link.
4.13.2-1  server  A reason of 0x80 or above for CONNACK or DISCONNECT ends the link, whether it is sent or not.
6.0.0-1   guard   MQTT travels in binary WebSocket frames; any other data frame ends the link.
6.0.0-2   server  Packets and WebSocket frames need not begin or end together.
6.0.0-3   guard   A client offers the subprotocol mqtt.
6.0.0-4   server  The subprotocol chosen is mqtt.
"""
