/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit/unit.h"

#include "agent/activity.h"

static const char devices[] =
    "Inter-|   Receive                                                |  Transmit\n"
    " face |bytes    packets errs drop fifo frame compressed multicast|bytes    packets errs drop\n"
    "    lo: 9000     700    0    0    0     0          0         0     9000     700    0    0    "
    "0\n"
    "  eth0: 1234      17    0    0    0     0          0         0     4321      25    0    0    "
    "0\n"
    "  eth1:99999999 4 0 0 0 0 0 0 1 2 0 0 0\n";

TEST(test_packets_are_of_all_interfaces_but_loopback)
{
    assert_int_equal(activity_packets(devices), 17 + 25 + 4 + 2);
    assert_int_equal(activity_packets(""), 0);
}

#define HEAD "  sl  local_address rem_address   st tx_queue rx_queue tr tm->when retrnsmt   uid\n"

TEST(test_connections_to_the_outside_count)
{
    /* a server at 8000, a client of that server, one of 127.0.0.1, and two to the outside */
    assert_int_equal(
        activity_connections(HEAD "   0: 00000000:1F40 00000000:0000 0A 00000000:00000000 00:0\n"
                                  "   1: 0A4A590A:1F40 010000C0:D431 01 00000000:00000000 00:0\n"
                                  "   2: 0100007F:A000 0100007F:1F40 01 00000000:00000000 00:0\n"
                                  "   3: 0A4A590A:A001 01020304:01BB 01 00000000:00000000 00:0\n"
                                  "   4: 0A4A590A:A002 01020304:01BB 06 00000000:00000000 00:0\n"
                                  "   5: 0A4A590A:A003 01020304:0016 01 00000000:00000000 00:0\n"),
        2);
}

TEST(test_connections_of_ipv6)
{
    assert_int_equal(activity_connections(HEAD "   0: 00000000000000000000000001000000:1F40 "
                                               "00000000000000000000000001000000:A000 01 0\n"
                                               "   1: 0000000000000000FFFF00000100007F:A004 "
                                               "0000000000000000FFFF00000100007F:1F40 01 0\n"
                                               "   2: 0000000000000000FFFF00000A4A590A:A005 "
                                               "0000000000000000FFFF000001020304:01BB 01 0\n"),
                     1);
}

/* Both readings, with a processor time that is always due. */
static int64_t note(struct activity *activity, int64_t now_ms, uint64_t packets, uint64_t cpu_ms)
{
    activity_note_packets(activity, now_ms, packets);
    activity_note_cpu(activity, now_ms, cpu_ms);
    return activity_idle_ms(activity, now_ms);
}

TEST(test_the_first_reading_is_busy)
{
    struct activity activity = {0};
    assert_int_equal(note(&activity, 1000000, 100, 100), 0);
    /* only the questions themselves */
    assert_int_equal(note(&activity, 1015000, 112, 105), 15000);
    assert_int_equal(note(&activity, 1030000, 124, 110), 30000);
}

TEST(test_packets_and_processor_time_are_activity)
{
    struct activity activity = {0};
    note(&activity, 1000000, 100, 100);
    assert_int_equal(note(&activity, 1015000, 200, 105), 0);
    assert_int_equal(note(&activity, 1030000, 212, 110), 15000);
    assert_int_equal(note(&activity, 1045000, 224, 510), 0);
    /* The counters begin again after a start. */
    assert_int_equal(note(&activity, 1060000, 3, 600), 0);
    assert_int_equal(note(&activity, 1075000, 10, 5), 0);
}

TEST(test_a_hold_is_busy_until_its_end)
{
    struct activity activity = {.busy_ms = 1000000};
    activity_hold(&activity, 1000000, 60);
    assert_int_equal(activity_idle_ms(&activity, 1059999), 0);
    assert_int_equal(activity_idle_ms(&activity, 1069999), 10000);
    activity_hold(&activity, 1069999, 60);
    activity_hold(&activity, 1070000, 1);
    assert_int_equal(activity_idle_ms(&activity, 1129998), 0);
    activity_hold(&activity, 1129998, 0);
    assert_int_equal(activity_idle_ms(&activity, 1129999), 1);
}

TEST(test_processor_time_is_read_eight_times_in_the_timeout)
{
    struct activity activity = {0};
    assert_true(activity_cpu_is_due(&activity, 1000000, 600));
    activity_note_cpu(&activity, 1000000, 100);
    assert_false(activity_cpu_is_due(&activity, 1074999, 600));
    assert_true(activity_cpu_is_due(&activity, 1075000, 600));
    /* 2 % of the whole time, and more than that */
    activity_note_cpu(&activity, 1075000, 100 + 1500);
    assert_int_equal(activity_idle_ms(&activity, 1075000), 75000);
    activity_note_cpu(&activity, 1150000, 1600 + 1501);
    assert_int_equal(activity_idle_ms(&activity, 1150000), 0);
}

TEST(test_a_hold_is_activity_until_it_ends)
{
    struct activity activity = {.held_until_ms = 1020000};
    note(&activity, 1000000, 100, 100);
    assert_int_equal(note(&activity, 1015000, 110, 105), 0);
    assert_int_equal(note(&activity, 1030000, 120, 110), 15000);
}
