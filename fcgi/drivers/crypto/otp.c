/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "crypto/otp.h"

#include <openssl/evp.h>
#include <openssl/hmac.h>
#include <sodium.h>
#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/panic.h"

#define STEP_MS    30000
#define STEPS_NEAR 1 /* clocks differ, and typing takes a moment */
#define DIGITS     1000000

void base32_encode(const unsigned char *data, size_t size, char *out)
{
    static const char alphabet[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZ234567";
    unsigned bits = 0, held = 0;
    for (size_t i = 0; i < size; i++) {
        held = (held << 8 | data[i]) & 0xfff;
        for (bits += 8; bits >= 5; bits -= 5)
            *out++ = alphabet[held >> (bits - 5) & 31];
    }
    if (bits)
        *out++ = alphabet[held << (5 - bits) & 31];
    *out = '\0';
}

/* RFC 4226, section 5.3: where the last four bits say, 31 bits. */
static unsigned digits_of(const unsigned char *mac, unsigned size)
{
    const unsigned char *at = mac + (mac[size - 1] & 15);
    return (unsigned)(at[0] & 127) << 24 | (unsigned)at[1] << 16 | (unsigned)at[2] << 8 | at[3];
}

void otp_code(const unsigned char secret[OTP_SECRET_BYTES], uint64_t step, char out[OTP_CODE_SIZE])
{
    unsigned char counter[8], mac[EVP_MAX_MD_SIZE];
    unsigned size = 0;
    for (int i = 7; i >= 0; i--, step >>= 8)
        counter[i] = (unsigned char)step;
    if (!HMAC(EVP_sha1(), secret, OTP_SECRET_BYTES, counter, sizeof counter, mac, &size))
        panic("libcrypto has no HMAC-SHA-1");
    snprintf(out, OTP_CODE_SIZE, "%06u", digits_of(mac, size) % DIGITS);
    mem_wipe(mac, sizeof mac);
}

bool otp_find_step(const unsigned char secret[OTP_SECRET_BYTES], const char *code, int64_t now_ms,
                   int64_t after, int64_t *step)
{
    char expected[OTP_CODE_SIZE];
    int64_t now = now_ms / STEP_MS;
    bool found = false;
    if (strlen(code) != OTP_CODE_SIZE - 1)
        return false;
    for (int64_t at = now - STEPS_NEAR; at <= now + STEPS_NEAR; at++) {
        otp_code(secret, (uint64_t)at, expected);
        if (sodium_memcmp(expected, code, OTP_CODE_SIZE - 1) == 0 && at > after && !found) {
            *step = at;
            found = true;
        }
    }
    mem_wipe(expected, sizeof expected);
    return found;
}
