/* SPDX-License-Identifier: GPL-2.0-or-later */
/* How a field's value stands in the binary form; only for message_*.c. */
#pragma once

enum message_wire {
    WIRE_VARINT = 0,
    WIRE_64 = 1,
    WIRE_BYTES = 2,
    WIRE_GROUP = 3,
    WIRE_GROUP_END = 4,
    WIRE_32 = 5,
};

#define WIRE_BITS 3

/* The fields of an entry of a map. */
#define WIRE_KEY   1
#define WIRE_VALUE 2
