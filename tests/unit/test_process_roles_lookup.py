"""The look-up of roles: one question for many, answers that age, and a source that is slow, silent or wrong."""

import pytest

from roost.errors import BadConfig
from roost.machine import MS, SECOND, Effect
from roost.process.roles.decision import NO_ROLES
from roost.process.roles.lookup import ENDED, FULL, TOO_OLD, RoleLookup
from roost.process.roles.lookup_port import GiveUp, LookUp, LookupSettings, Move, Tell

START = 1_700_000_000 * SECOND
DEV = frozenset({"developer"})
CUSTOMER = frozenset({"customer"})
SILENT = "no answer in 5 s"


def number_of(effects: list[Effect]) -> int:
    found = [effect.number for effect in effects if isinstance(effect, LookUp)]
    assert len(found) == 1
    return found[0]


def knowing(roles: frozenset[str] = DEV, settings: LookupSettings | None = None) -> RoleLookup:
    """A look-up that has told ticket 1 the roles of alice, at START."""
    lookup = RoleLookup(settings)
    number = number_of(lookup.ask("alice", 1, START))
    assert lookup.answered(number, roles, START) == [Tell(1, "alice", roles)]
    return lookup


def until_quiet(lookup: RoleLookup, end: int) -> list[tuple[int, Effect]]:
    """Let time pass at the deadlines, to an end; what happened, by the time since START."""
    happened: list[tuple[int, Effect]] = []
    while (deadline := lookup.deadline()) is not None and deadline <= end:
        happened += [(deadline - START, effect) for effect in lookup.tick(deadline)]
        assert lookup.deadline() != deadline
    return happened


def test_a_question_is_asked_of_the_source_and_its_answer_told() -> None:
    lookup = RoleLookup()
    assert lookup.ask("alice", 1, START) == [LookUp(2, "alice")]
    assert lookup.answered(2, DEV, START + MS) == [Tell(1, "alice", DEV)]


def test_many_who_wait_cost_one_look_up_and_are_told_in_order() -> None:
    lookup = RoleLookup()
    number = number_of(lookup.ask("alice", 1, START))
    assert lookup.ask("alice", 3, START) == []
    assert lookup.ask("alice", 2, START) == []
    assert lookup.coalesced == 2
    assert lookup.answered(number, DEV, START) == [Tell(ticket, "alice", DEV) for ticket in (1, 3, 2)]
    assert lookup.look_ups == 1


def test_a_fresh_answer_is_told_at_once() -> None:
    lookup = knowing()
    assert lookup.ask("alice", 2, START + 299 * SECOND) == [Tell(2, "alice", DEV)]
    assert lookup.hits == 1


def test_an_old_answer_is_not_told() -> None:
    lookup = knowing()
    assert number_of(lookup.ask("alice", 2, START + 300 * SECOND))


def test_who_has_no_name_has_no_roles_and_nobody_is_asked() -> None:
    lookup = RoleLookup()
    assert lookup.ask("", 1, START) == [Tell(1, "", NO_ROLES)]
    lookup.release("", 1)
    assert lookup.deadline() is None


def test_a_source_that_does_not_answer_in_time_leaves_nobody_with_a_role() -> None:
    lookup = RoleLookup()
    number = number_of(lookup.ask("alice", 1, START))
    lookup.ask("alice", 2, START + 4 * SECOND)
    assert lookup.deadline() == START + 5 * SECOND
    assert lookup.tick(START + 5 * SECOND - 1) == []
    assert lookup.tick(START + 5 * SECOND) == [
        GiveUp(number),
        Tell(1, "alice", None, SILENT),
        Tell(2, "alice", None, SILENT),
    ]
    assert lookup.timeouts == 1


def test_an_answer_that_comes_too_late_is_not_heard() -> None:
    lookup = RoleLookup()
    number = number_of(lookup.ask("alice", 1, START))
    lookup.tick(START + 5 * SECOND)
    assert lookup.answered(number, DEV, START + 6 * SECOND) == []
    assert lookup.failed(number, "down", START + 6 * SECOND) == []
    assert lookup.late == 2
    assert lookup.ask("alice", 2, START + 6 * SECOND) == [Tell(2, "alice", None, SILENT)]


def test_a_failure_is_told_with_its_reason_and_kept_shorter_than_an_answer() -> None:
    lookup = RoleLookup()
    number = number_of(lookup.ask("alice", 1, START))
    assert lookup.failed(number, "503", START) == [Tell(1, "alice", None, "503")]
    assert lookup.ask("alice", 2, START + 29 * SECOND) == [Tell(2, "alice", None, "503")]
    assert lookup.look_ups == 1
    number = number_of(lookup.ask("alice", 3, START + 30 * SECOND))
    assert lookup.answered(number, DEV, START + 30 * SECOND) == [Move("alice", DEV), Tell(3, "alice", DEV)]


def test_an_answer_without_roles_is_kept_shorter_too() -> None:
    lookup = knowing(NO_ROLES)
    assert lookup.ask("alice", 2, START + 29 * SECOND) == [Tell(2, "alice", NO_ROLES)]
    assert number_of(lookup.ask("alice", 3, START + 30 * SECOND))


def test_what_is_held_is_looked_up_again_before_it_is_too_old() -> None:
    lookup = knowing()
    assert lookup.deadline() == START + 225 * SECOND
    number = number_of(lookup.tick(START + 225 * SECOND))
    assert lookup.ask("alice", 2, START + 226 * SECOND) == [Tell(2, "alice", DEV)]
    assert lookup.answered(number, DEV, START + 227 * SECOND) == []
    assert lookup.ask("alice", 3, START + 526 * SECOND) == [Tell(3, "alice", DEV)]


def test_another_answer_moves_the_user_once_whoever_holds() -> None:
    lookup = knowing()
    lookup.ask("alice", 2, START)
    number = number_of(lookup.tick(START + 225 * SECOND))
    assert lookup.answered(number, CUSTOMER, START + 226 * SECOND) == [Move("alice", CUSTOMER)]


def test_a_source_that_falls_silent_costs_users_their_roles_and_gives_them_back_when_it_speaks() -> None:
    lookup = knowing()
    happened = until_quiet(lookup, START + 369 * SECOND)
    moves = [(at // SECOND, effect) for at, effect in happened if isinstance(effect, Move)]
    assert moves == [(300, Move("alice", None, SILENT))]
    asked = [at // SECOND for at, effect in happened if isinstance(effect, LookUp)]
    assert asked == [225, 260, 295, 330, 365]
    last = [effect.number for _, effect in happened if isinstance(effect, LookUp)][-1]
    assert lookup.answered(last, DEV, START + 369 * SECOND) == [Move("alice", DEV)]


def test_a_failed_renewal_leaves_the_roles_for_their_time_and_is_tried_again() -> None:
    lookup = knowing()
    number = number_of(lookup.tick(START + 225 * SECOND))
    assert lookup.failed(number, "503", START + 226 * SECOND) == []
    assert lookup.ask("alice", 2, START + 230 * SECOND) == [Tell(2, "alice", DEV)]
    assert lookup.deadline() == START + 256 * SECOND


def test_a_change_is_looked_up_at_once_and_moves_who_holds() -> None:
    lookup = knowing()
    number = number_of(lookup.changed("alice", START + SECOND))
    assert lookup.answered(number, CUSTOMER, START + SECOND + MS) == [Move("alice", CUSTOMER)]


def test_after_a_change_nobody_new_is_told_the_old_roles() -> None:
    lookup = knowing()
    number = number_of(lookup.changed("alice", START + SECOND))
    assert lookup.ask("alice", 2, START + SECOND) == []
    assert lookup.answered(number, NO_ROLES, START + SECOND) == [Move("alice", NO_ROLES), Tell(2, "alice", NO_ROLES)]


def test_a_change_that_cannot_be_looked_up_takes_the_roles_away() -> None:
    lookup = knowing()
    number = number_of(lookup.changed("alice", START + SECOND))
    assert lookup.tick(START + 6 * SECOND) == [GiveUp(number), Move("alice", None, SILENT)]
    lookup = knowing()
    number = number_of(lookup.changed("alice", START + SECOND))
    assert lookup.failed(number, "503", START + 2 * SECOND) == [Move("alice", None, "503")]


def test_changes_that_never_end_do_not_keep_the_old_roles_alive() -> None:
    lookup = knowing()
    for seconds in (1, 4):
        lookup.changed("alice", START + seconds * SECOND)
    assert lookup.tick(START + 6 * SECOND) == [Move("alice", None, TOO_OLD)]


def test_roles_that_ran_out_are_looked_up_at_once_whatever_failed_before() -> None:
    lookup = knowing()
    number = number_of(lookup.tick(START + 290 * SECOND))
    lookup.failed(number, "503", START + 290 * SECOND)
    happened = lookup.tick(START + 300 * SECOND)
    assert happened == [Move("alice", None, TOO_OLD), LookUp(number + 1, "alice")]


def test_an_answer_that_was_on_its_way_when_the_roles_changed_is_not_heard() -> None:
    lookup = RoleLookup()
    old = number_of(lookup.ask("alice", 1, START))
    effects = lookup.changed("alice", START + SECOND)
    new = number_of(effects)
    assert effects == [GiveUp(old), LookUp(new, "alice")]
    assert lookup.answered(old, DEV, START + SECOND) == []
    assert lookup.answered(new, CUSTOMER, START + SECOND) == [Tell(1, "alice", CUSTOMER)]


def test_a_change_of_who_nobody_holds_is_forgotten_not_looked_up() -> None:
    lookup = knowing()
    lookup.release("alice", 1)
    assert lookup.changed("alice", START) == []
    assert lookup.changed("stranger", START) == []
    assert lookup.deadline() is None
    assert number_of(lookup.ask("alice", 2, START))


def test_who_lets_go_is_told_no_more_and_the_answer_ages_away() -> None:
    lookup = knowing()
    lookup.release("alice", 1)
    assert lookup.deadline() == START + 300 * SECOND
    assert lookup.ask("alice", 2, START) == [Tell(2, "alice", DEV)]
    lookup.release("alice", 2)
    lookup.release("alice", 2)
    assert until_quiet(lookup, START + 300 * SECOND) == []
    assert lookup.sizes()["users"][0] == 0
    assert lookup.sizes()["tickets"][0] == 0


def test_who_lets_go_while_waiting_is_not_told() -> None:
    lookup = RoleLookup()
    number = number_of(lookup.ask("alice", 1, START))
    lookup.ask("alice", 2, START)
    lookup.release("alice", 1)
    assert lookup.answered(number, DEV, START) == [Tell(2, "alice", DEV)]
    number = number_of(lookup.ask("bob", 3, START))
    lookup.release("bob", 3)
    assert lookup.answered(number, DEV, START) == []
    assert lookup.ask("bob", 4, START) == [Tell(4, "bob", DEV)]


def test_the_source_may_say_a_nearer_end() -> None:
    lookup = RoleLookup()
    number = number_of(lookup.ask("alice", 1, START))
    lookup.answered(number, DEV, START, START + 60 * SECOND)
    assert lookup.ask("alice", 2, START + 59 * SECOND) == [Tell(2, "alice", DEV)]
    happened = [effect for _, effect in until_quiet(lookup, START + 60 * SECOND)]
    assert Move("alice", None, TOO_OLD) in happened


def test_an_answer_that_has_ended_is_none() -> None:
    lookup = RoleLookup()
    number = number_of(lookup.ask("alice", 1, START))
    assert lookup.answered(number, DEV, START, START) == [Tell(1, "alice", None, ENDED)]


def test_an_answer_that_ends_at_once_does_not_make_for_endless_questions() -> None:
    lookup = RoleLookup()
    number = number_of(lookup.ask("alice", 1, START))
    lookup.answered(number, DEV, START, START + 100)
    asked = 1
    while (deadline := lookup.deadline()) is not None and deadline < START + 60 * SECOND:
        for effect in lookup.tick(deadline):
            if isinstance(effect, LookUp):
                asked += 1
                lookup.answered(effect.number, DEV, deadline, START + 100)
    assert asked == 3  # at its end, and 30 s later


def test_so_many_look_ups_go_on_at_once_and_the_others_wait_for_their_turn() -> None:
    lookup = RoleLookup(LookupSettings(max_under_way=2))
    first = number_of(lookup.ask("a", 1, START))
    assert number_of(lookup.ask("b", 2, START))
    assert lookup.ask("c", 3, START) == []
    assert lookup.ask("d", 4, START) == []
    lookup.release("c", 3)
    effects = lookup.answered(first, DEV, START)
    assert effects[0] == Tell(1, "a", DEV)
    assert isinstance(effects[1], LookUp)
    assert effects[1].user == "d"


def test_the_timeout_runs_while_a_look_up_waits_for_its_turn() -> None:
    lookup = RoleLookup(LookupSettings(max_under_way=1))
    lookup.ask("a", 1, START)
    lookup.ask("b", 2, START)
    told = [effect for effect in lookup.tick(START + 5 * SECOND) if isinstance(effect, Tell)]
    assert told == [Tell(1, "a", None, SILENT), Tell(2, "b", None, SILENT)]
    assert lookup.sizes()["under way"] == (0, 1)


def test_users_that_nobody_holds_make_room_and_held_ones_do_not() -> None:
    settings = LookupSettings(max_users=2)
    lookup = knowing(settings=settings)
    lookup.answered(number_of(lookup.ask("bob", 2, START)), DEV, START)
    assert lookup.ask("carol", 3, START) == [Tell(3, "carol", None, FULL)]
    assert lookup.turned_away == 1
    lookup.release("bob", 2)
    assert number_of(lookup.ask("carol", 4, START))
    assert lookup.forgotten == 1
    assert lookup.sizes()["users"] == (2, 2)


def test_tickets_are_bounded() -> None:
    lookup = knowing(settings=LookupSettings(max_tickets=1))
    assert lookup.ask("alice", 2, START) == [Tell(2, "alice", None, FULL)]
    lookup.release("alice", 1)
    assert lookup.ask("alice", 2, START) == [Tell(2, "alice", DEV)]


def test_settings_are_above_nothing() -> None:
    with pytest.raises(BadConfig, match="timeout of the role look-up is 0"):
        LookupSettings(timeout=0)
