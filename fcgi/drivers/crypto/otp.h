/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Check the time-based one-time passwords of authenticator applications: HMAC-SHA-1, six digits,
 * thirty seconds (RFC 6238), with secrets in base 32 (RFC 4648).
 */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

#define OTP_SECRET_BYTES 20
#define OTP_SECRET_SIZE  33 /* in base 32, without padding */
#define OTP_CODE_SIZE    7

/* Write size bytes in upper-case base 32 without padding; out needs size * 8 / 5 + 2 bytes. */
void base32_encode(const unsigned char *data, size_t size, char *out);

/* Write the code of a time step. */
void otp_code(const unsigned char secret[OTP_SECRET_BYTES], uint64_t step, char out[OTP_CODE_SIZE]);

/* Find the time step of a code, near now_ms (wall clock) and later than the step `after`. Returns
 * false for a wrong code. */
bool otp_find_step(const unsigned char secret[OTP_SECRET_BYTES], const char *code, int64_t now_ms,
                   int64_t after, int64_t *step);
