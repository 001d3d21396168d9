/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Time-based one-time passwords as authenticator applications make them: HMAC-SHA-1, six digits,
 * thirty seconds (RFC 6238), with secrets in base 32 (RFC 4648).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OTP_SECRET_BYTES 20
#define OTP_SECRET_SIZE  33 /* in base 32, without padding */
#define OTP_CODE_SIZE    7

/* Write upper-case base 32 of at most size bytes, five bits a character; out needs size * 8 / 5 +
 * 2. */
void base32_encode(const unsigned char *data, size_t size, char *out);

/* Write the code of a time step. */
void otp_code(const unsigned char secret[OTP_SECRET_BYTES], uint64_t step, char out[OTP_CODE_SIZE]);

/* Find the time step of a code, near now and later than after. False: a wrong code. */
bool otp_find_step(const unsigned char secret[OTP_SECRET_BYTES], const char *code, int64_t now_ms,
                   int64_t after, int64_t *step);
