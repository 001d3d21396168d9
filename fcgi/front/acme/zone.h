/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The zones that we are asked about, _acme-challenge.<name> for each of our names: at their tops
 * the values that wait for a certificate authority, as TXT, and nothing below. The parent's DNS
 * delegates them to this machine. Pure.
 */
#pragma once

#include <stdint.h>

#include "challenge/challenge.h"

#define ZONE_QUESTION_MAX 1024 /* bytes; a name, a type and EDNS options fit many times */

/* The answer to a message. over_tcp: it may be as large as it has to. Returns 0 and the bytes,
 * which the caller frees; -1: nothing is answered. */
int zone_answer(const struct challenge_names *names, const struct challenge_value *values,
                size_t count, const uint8_t *wire, size_t size, bool over_tcp, uint8_t **answer,
                size_t *answer_size);
