/* SPDX-License-Identifier: GPL-2.0-or-later */
/* What a server says on the event stream: the answer to the upgrade, and the text of an event. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "incus/incus_event.h"

#define ACCEPT "s3pPLMBiTxaQ9kYGzzhZRbK+xOo="

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    const char *text = (const char *)data;
    struct incus_event event;

    int head = incus_upgrade_read(text, size, ACCEPT);
    if (head < -1 || head > INCUS_UPGRADE_HEAD_MAX || (head > 0 && (size_t)head > size) ||
        (head == 0 && size >= INCUS_UPGRADE_HEAD_MAX))
        abort();
    incus_event_read(text, size, &event);
    if ((event.kind == INCUS_EVENT_OTHER) != !*event.instance ||
        !memchr(event.instance, '\0', sizeof event.instance))
        abort();
    return 0;
}
