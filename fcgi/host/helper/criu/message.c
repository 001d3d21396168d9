/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "helper/criu/message.h"

enum wire { WIRE_VARINT = 0, WIRE_BYTES = 2 };

static bool take_varint(struct message *message, uint64_t *value)
{
    *value = 0;
    for (unsigned shift = 0; shift < 64 && message->at < message->end; shift += 7) {
        uint8_t byte = *message->at++;
        *value |= (uint64_t)(byte & 0x7f) << shift;
        if (!(byte & 0x80))
            return true;
    }
    return false;
}

bool message_take(struct message *message, struct message_field *field)
{
    uint64_t tag, size;
    if (!take_varint(message, &tag))
        return false;
    *field = (struct message_field){.id = (unsigned)(tag >> 3), .start = message->at};
    if ((tag & 7) == WIRE_VARINT)
        return take_varint(message, &field->number);
    if ((tag & 7) != WIRE_BYTES || !take_varint(message, &size) ||
        size > (uint64_t)(message->end - message->at))
        return false;
    field->inner = (struct message){message->at, message->at + size};
    message->at += size;
    return true;
}

size_t message_number_size(uint64_t number)
{
    size_t size = 1;
    while (number >>= 7)
        size++;
    return size;
}

void message_put_number(uint8_t *at, size_t size, uint64_t number)
{
    for (size_t i = 0; i < size; i++, number >>= 7)
        at[i] = (uint8_t)((number & 0x7f) | (i + 1 < size ? 0x80 : 0));
}
