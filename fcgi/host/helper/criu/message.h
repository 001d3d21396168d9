/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Read and change messages of protobuf in a memory image. CRIU writes numbers and bytes only. */
#pragma once

#include <stdbool.h>
#include <stddef.h>
#include <stdint.h>

/* The most bytes of a number. */
#define MESSAGE_NUMBER_MAX 10

/* The unread rest of a message. */
struct message {
    uint8_t *at, *end;
};

struct message_field {
    unsigned id;
    uint64_t number;      /* only if inner.at is NULL */
    uint8_t *start;       /* the first byte after the tag */
    struct message inner; /* the content of a field of bytes; at is NULL for a number */
};

/* Read the next field. Return false at the end, and for bytes that are no such message. */
bool message_take(struct message *message, struct message_field *field);

/* Return how many bytes the number needs. */
size_t message_number_size(uint64_t number);

/* Write a number in exactly size bytes, at least message_number_size(). Readers accept the longer
 * form too. */
void message_put_number(uint8_t *at, size_t size, uint64_t number);
