/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit/unit.h"

#include "base/clock.h"
#include "base/mem.h"
#include "ctl/certificate.h"

/* Version 3, until 2027-01-02T03:04:05Z (UTCTime). */
static const char version_3[] = "-----BEGIN CERTIFICATE-----\n"
                                "MIIBejCCASGgAwIBAgIUIpSp8T6bddAGrggdIIiHj6D6TvgwCgYIKoZIzj0EAwIw\n"
                                "HDEaMBgGA1UEAwwRc2FuZGJveC5sb2NhbGhvc3QwHhcNMjYwMTAxMDAwMDAwWhcN\n"
                                "MjcwMTAyMDMwNDA1WjAcMRowGAYDVQQDDBFzYW5kYm94LmxvY2FsaG9zdDBZMBMG\n"
                                "ByqGSM49AgEGCCqGSM49AwEHA0IABAcZ8Ybz6C/KHLWW757hO80DpKhMiwGZOJTl\n"
                                "q5w1zw2KrtKEfpPAFuOWKKEo5tebAlMJExS4mmYuWu274hmB6n2jQTA/MB4GA1Ud\n"
                                "EQQXMBWCEyouc2FuZGJveC5sb2NhbGhvc3QwHQYDVR0OBBYEFBb+CxgKOIc5PiOL\n"
                                "molI3uuSGComMAoGCCqGSM49BAMCA0cAMEQCIDt+bppFBXf6YW+43HvjX1NbalTG\n"
                                "mHiMcenZ/gfSUuBtAiAT3VeyiCC7fr3JA4IJt91ZYUh8UUQMiWshaUEGxovUxA==\n"
                                "-----END CERTIFICATE-----\n";

/* Version 1, until 2055-01-02T03:04:05Z (GeneralizedTime). */
static const char version_1[] = "-----BEGIN CERTIFICATE-----\n"
                                "MIIBNDCB2wIUdGqfjgQinGri4ew6KpqPqu1+6RkwCgYIKoZIzj0EAwIwHDEaMBgG\n"
                                "A1UEAwwRc2FuZGJveC5sb2NhbGhvc3QwIBcNMjYwMTAxMDAwMDAwWhgPMjA1NTAx\n"
                                "MDIwMzA0MDVaMBwxGjAYBgNVBAMMEXNhbmRib3gubG9jYWxob3N0MFkwEwYHKoZI\n"
                                "zj0CAQYIKoZIzj0DAQcDQgAEBxnxhvPoL8octZbvnuE7zQOkqEyLAZk4lOWrnDXP\n"
                                "DYqu0oR+k8AW45YooSjm15sCUwkTFLiaZi5a7bviGYHqfTAKBggqhkjOPQQDAgNI\n"
                                "ADBFAiBawnidtKUlpe66lw1ov364dF/uANSIK/sEkedYxWe+GgIhAM/g1r+ICKsC\n"
                                "6aN9A+BklhTWkf+zn+pv5zhNOoVkcMvo\n"
                                "-----END CERTIFICATE-----\n";

static char *path;

static int make_path(void **state)
{
    path = xstrdup("/tmp/sandlot-certificate-XXXXXX");
    return mkstemp(path) < 0;
}

static int drop_path(void **state)
{
    int result = unlink(path);
    free(path);
    return result;
}

static void write_file(const char *before, const char *text)
{
    FILE *file = fopen(path, "w");
    assert_non_null(file);
    fprintf(file, "%s%s", before, text);
    fclose(file);
}

static void assert_expires(const char *expected)
{
    struct error *err = NULL;
    int64_t at_ms;
    char text[CLOCK_ISO8601_SIZE];
    assert_ok(certificate_expiry(path, &at_ms, &err));
    assert_string_equal(clock_format_iso8601(at_ms, text), expected);
}

TEST(reads_the_end_of_validity)
{
    write_file("", version_3);
    assert_expires("2027-01-02T03:04:05.000Z");
    write_file("subject: somebody\n", version_1);
    assert_expires("2055-01-02T03:04:05.000Z");
}

TEST(takes_the_first_of_a_chain)
{
    write_file(version_3, version_1);
    assert_expires("2027-01-02T03:04:05.000Z");
}

TEST(refuses_other_files)
{
    struct error *err = NULL;
    int64_t at_ms;
    static const char *const texts[] = {
        "",
        "no certificate\n",
        "-----BEGIN CERTIFICATE-----\n",
        "-----BEGIN CERTIFICATE-----\n-----END CERTIFICATE-----\n",
        "-----BEGIN CERTIFICATE-----\nMIIB\n-----END CERTIFICATE-----\n",
        "-----BEGIN CERTIFICATE-----\n!!!!\n-----END CERTIFICATE-----\n",
    };
    for (size_t i = 0; i < ARRAY_SIZE(texts); i++) {
        write_file("", texts[i]);
        assert_fails_saying(certificate_expiry(path, &at_ms, &err), ERR_CONFIG, "certificate");
    }
    assert_fails_saying(certificate_expiry("/nonexistent", &at_ms, &err), ERR_CONFIG,
                        "/nonexistent");
}

TEST(survives_lengths_that_lie)
{
    int64_t at_ms;
    static const unsigned char lies[][8] = {
        {0x30, 0x84, 0xff, 0xff, 0xff, 0xff},
        {0x30, 0x80},
        {0x30, 0x85, 1, 1, 1, 1, 1},
        {0x30, 0x06, 0x30, 0x7f},
        {0x30, 0x02, 0x30},
        {0x30, 0x06, 0x30, 0x04, 0xa0, 9},
    };
    for (size_t i = 0; i < ARRAY_SIZE(lies); i++) {
        unsigned char *exact = xmemdup(lies[i], sizeof lies[i]);
        for (size_t size = 0; size <= sizeof lies[i]; size++)
            assert_int_equal(certificate_der_expiry(exact, size, &at_ms), -1);
        free(exact);
    }
}

TEST_GROUP(make_path, drop_path)
