/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Findings whose causes no test stack has: a database behind a network, storage pools without
 * limits or without room, and a packet filter of the machine's own. */
#include "unit/unit.h"

#include "ctl/doctor.h"
#include "host/host.h"

static char certificates[] = "/etc/sandlot/database-ca.pem", nothing[] = "";
static struct settings settings;
static struct ctl ctl = {.settings = &settings};

static void assert_finding(json_t *findings, const char *state, const char *part)
{
    const char *found_state, *message;
    assert_int_equal(json_array_size(findings), 1);
    assert_int_equal(json_unpack(json_array_get(findings, 0), "{s:s, s:s}", "state", &found_state,
                                 "message", &message),
                     0);
    assert_string_equal(found_state, state);
    assert_non_null(strstr(message, part));
    json_array_clear(findings);
}

TEST(test_a_connection_whose_server_nobody_checks)
{
    json_auto_t *findings = json_array();
    struct doctor doctor = {.ctl = &ctl, .findings = findings, .is_quiet = true};
    settings.database_tls_ca_file = certificates;
    doctor_report_encryption(&doctor, "db1.internal", "TLS_AES_256_GCM_SHA384");
    assert_finding(findings, "ok", "encrypted with TLS_AES_256_GCM_SHA384.");
    settings.database_tls_ca_file = nothing;
    doctor_report_encryption(&doctor, "db1.internal", "TLS_AES_256_GCM_SHA384");
    assert_finding(findings, "note", "nothing checks the server's certificate");
    doctor_report_encryption(&doctor, "db1.internal", NULL);
    assert_finding(findings, "note", "is not encrypted");
    assert_int_equal(doctor.wrong, 0);
}

TEST(test_a_pool_without_limits_of_disks)
{
    json_auto_t *findings = json_array();
    struct doctor doctor = {.ctl = &ctl, .findings = findings, .is_quiet = true};
    const struct host host = {.id = 1, .name = "h7", .pool = "sandlot"};
    doctor_report_driver(&doctor, &host, "btrfs");
    doctor_report_driver(&doctor, &host, NULL);
    assert_int_equal(json_array_size(findings), 0);
    doctor_report_driver(&doctor, &host, "dir");
    assert_finding(findings, "note", "Storage pool sandlot of h7 has the driver dir");
}

TEST(test_a_pool_whose_file_has_no_room_to_grow)
{
    const uint64_t gib = UINT64_C(1) << 30;
    json_auto_t *findings = json_array();
    struct doctor doctor = {.ctl = &ctl, .findings = findings, .is_quiet = true};
    const struct host host = {.id = 1, .name = "local", .pool = "sandlot"};
    doctor_report_growth(&doctor, &host, 20 * gib, 20 * gib, 1000 * gib);
    assert_int_equal(json_array_size(findings), 0);
    doctor_report_growth(&doctor, &host, 60 * gib, 50 * gib, 1000 * gib);
    assert_finding(findings, "note", "can grow by 60.0 GiB, and its file system has 50.0 GiB left");
    assert_int_equal(doctor.wrong, 0);
    doctor_report_growth(&doctor, &host, 60 * gib, 49 * gib, 1000 * gib);
    assert_finding(findings, "WRONG", "can grow by 60.0 GiB");
    assert_int_equal(doctor.wrong, 1);
}

TEST(test_a_packet_filter_of_the_machine)
{
    json_auto_t *findings = json_array();
    struct doctor doctor = {.ctl = &ctl, .findings = findings, .is_quiet = true};
    json_auto_t *listed = json_loads(
        "{\"nftables\": [{\"metainfo\": {}},"
        " {\"chain\": {\"family\": \"inet\", \"table\": \"sandlot\", \"name\": \"forward\","
        " \"hook\": \"forward\", \"policy\": \"drop\"}},"
        " {\"chain\": {\"family\": \"ip\", \"table\": \"filter\", \"name\": \"DOCKER-USER\"}},"
        " {\"chain\": {\"family\": \"ip\", \"table\": \"filter\", \"name\": \"FORWARD\","
        " \"hook\": \"forward\", \"policy\": \"drop\"}},"
        " {\"chain\": {\"family\": \"ip\", \"table\": \"filter\", \"name\": \"INPUT\","
        " \"hook\": \"input\", \"policy\": \"accept\"}},"
        " {\"chain\": {\"family\": \"ip6\", \"table\": \"filter\", \"name\": \"FORWARD\","
        " \"hook\": \"forward\", \"policy\": \"drop\"}}]}",
        0, NULL);
    assert_non_null(listed);
    doctor_report_filters(&doctor, listed);
    assert_finding(findings, "note", "The chain FORWARD of your table filter drops packets");
    doctor_report_filters(&doctor, NULL);
    assert_int_equal(json_array_size(findings), 0);
}
