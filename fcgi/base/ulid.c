/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "base/ulid.h"

#include <ctype.h>
#include <stdlib.h>
#include <string.h>
#include <sys/random.h>

#include "base/clock.h"
#include "base/panic.h"

static const char crockford[] = "0123456789abcdefghjkmnpqrstvwxyz";
static const char hexadecimal[] = "0123456789abcdef";
static const char rfc4648[] = "abcdefghijklmnopqrstuvwxyz234567";

static void random_bytes(unsigned char *out, size_t size)
{
    /* Up to 256 bytes are never cut short once the pool is up; see getrandom(2). */
    if (getrandom(out, size, 0) != (ssize_t)size)
        panic("getrandom() failed");
}

static const char *make(const char *prefix, uint64_t ms, const unsigned char noise[16],
                        char out[ID_SIZE])
{
    memcpy(out, prefix, 4);
    char *ulid = out + 4;
    for (int i = 9; i >= 0; i--, ms >>= 5)
        ulid[i] = crockford[ms & 31];
    for (int i = 0; i < 16; i++)
        ulid[10 + i] = crockford[noise[i] & 31];
    ulid[ULID_LENGTH] = '\0';
    return out;
}

const char *id_new(const char *prefix, char out[ID_SIZE])
{
    unsigned char noise[16];
    random_bytes(noise, sizeof noise);
    return make(prefix, (uint64_t)clock_now_ms(), noise, out);
}

const char *id_floor(const char *prefix, int64_t at_ms, char out[ID_SIZE])
{
    static const unsigned char nothing[16];
    return make(prefix, (uint64_t)at_ms, nothing, out);
}

static bool is_of_alphabet(const char *text, size_t length, const char *alphabet)
{
    return strspn(text, alphabet) == length && text[length] == '\0';
}

bool id_is_valid(const char *prefix, const char *text)
{
    return strncmp(text, prefix, 4) == 0 && text[4] == ID_CELL &&
           is_of_alphabet(text + 4, ULID_LENGTH, crockford);
}

#define BITS_BYTES 16 /* of an identifier */

/* Shift the number left by `shift` bits, at most 5, and add to it. */
static void push(unsigned char bytes[BITS_BYTES], unsigned shift, unsigned added)
{
    for (int i = BITS_BYTES - 1; i >= 0; i--) {
        unsigned sum = ((unsigned)bytes[i] << shift) + added;
        bytes[i] = (unsigned char)sum;
        added = sum >> 8;
    }
}

/* Divide the number by 32; the remainder. */
static unsigned pop(unsigned char bytes[BITS_BYTES])
{
    unsigned rest = 0;
    for (int i = 0; i < BITS_BYTES; i++) {
        unsigned value = rest << 8 | bytes[i];
        bytes[i] = (unsigned char)(value >> 5);
        rest = value & 31;
    }
    return rest;
}

static bool has_dash_before(int byte)
{
    return byte == 4 || byte == 6 || byte == 8 || byte == 10;
}

const char *id_to_uuid(const char *id, char out[UUID_SIZE])
{
    unsigned char bytes[BITS_BYTES] = {0};
    char *at = out;
    for (const char *digit = id + 4; *digit; digit++)
        push(bytes, 5, (unsigned)(strchr(crockford, *digit) - crockford));
    for (int i = 0; i < BITS_BYTES; i++) {
        if (has_dash_before(i))
            *at++ = '-';
        *at++ = hexadecimal[bytes[i] >> 4];
        *at++ = hexadecimal[bytes[i] & 15];
    }
    *at = '\0';
    return out;
}

static int read_uuid(const char *text, unsigned char bytes[BITS_BYTES])
{
    for (int i = 0; i < 2 * BITS_BYTES; i++) {
        if (i % 2 == 0 && has_dash_before(i / 2) && *text++ != '-')
            return -1;
        const char *digit = *text ? strchr(hexadecimal, tolower((unsigned char)*text++)) : NULL;
        if (!digit)
            return -1;
        push(bytes, 4, (unsigned)(digit - hexadecimal));
    }
    return *text ? -1 : 0;
}

int id_of_uuid(const char *prefix, const char *text, char out[ID_SIZE])
{
    unsigned char bytes[BITS_BYTES] = {0};
    if (read_uuid(text, bytes) < 0)
        return -1;
    memcpy(out, prefix, 4);
    for (int i = ULID_LENGTH - 1; i >= 0; i--)
        out[4 + i] = crockford[pop(bytes)];
    out[4 + ULID_LENGTH] = '\0';
    return id_is_valid(prefix, out) ? 0 : -1;
}

const char *route_token_new(char out[ROUTE_TOKEN_LENGTH + 1])
{
    unsigned char noise[ROUTE_TOKEN_LENGTH];
    random_bytes(noise, sizeof noise);
    for (int i = 0; i < ROUTE_TOKEN_LENGTH; i++)
        out[i] = rfc4648[noise[i] & 31];
    out[ROUTE_TOKEN_LENGTH] = '\0';
    return out;
}

bool route_token_is_valid(const char *text)
{
    return is_of_alphabet(text, ROUTE_TOKEN_LENGTH, rfc4648);
}
