/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit/unit.h"

#include "crypto/otp.h"

/* RFC 6238, appendix B, whose codes have eight digits: these are their last six. */
static const unsigned char secret[OTP_SECRET_BYTES] = "12345678901234567890";

TEST(codes_of_the_rfc)
{
    static const struct {
        int64_t at_s;
        const char *code;
    } cases[] = {{59, "287082"},         {1111111109, "081804"}, {1111111111, "050471"},
                 {1234567890, "005924"}, {2000000000, "279037"}, {20000000000, "353130"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char code[OTP_CODE_SIZE];
        int64_t step;
        otp_code(secret, (uint64_t)cases[i].at_s / 30, code);
        assert_string_equal(code, cases[i].code);
        assert_true(otp_find_step(secret, code, cases[i].at_s * 1000, 0, &step));
        assert_int_equal(step, cases[i].at_s / 30);
    }
}

/* A code is found one step early and late, and no step is found again. */
TEST(steps_nearby)
{
    int64_t now_ms = 1234567890000, now = now_ms / 30000, step;
    char code[OTP_CODE_SIZE];
    for (int64_t off = -3; off <= 3; off++) {
        otp_code(secret, (uint64_t)(now + off), code);
        assert_int_equal(otp_find_step(secret, code, now_ms, 0, &step), off >= -1 && off <= 1);
    }
    otp_code(secret, (uint64_t)now, code);
    assert_true(otp_find_step(secret, code, now_ms, now - 1, &step));
    assert_false(otp_find_step(secret, code, now_ms, now, &step));
    assert_false(otp_find_step(secret, "", now_ms, 0, &step));
    assert_false(otp_find_step(secret, "0059240", now_ms, 0, &step));
}

TEST(base_32_of_the_rfc)
{
    static const struct {
        const char *plain, *text;
    } cases[] = {{"", ""},         {"f", "MY"},         {"fo", "MZXQ"},
                 {"foo", "MZXW6"}, {"foob", "MZXW6YQ"}, {"foobar", "MZXW6YTBOI"}};
    for (size_t i = 0; i < sizeof cases / sizeof cases[0]; i++) {
        char text[16];
        base32_encode((const unsigned char *)cases[i].plain, strlen(cases[i].plain), text);
        assert_string_equal(text, cases[i].text);
    }
}
