/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Questions of sandboxes, answers of upstreams, messages of the kernel's log, and answers of
 * proxies: first byte 0, 1, 2 or 3. What is taken can be written again, within its bounds. */
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "dns/message.h"
#include "firewall/netfilter.h"
#include "firewall/proxy_hello.h"

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static void try_question(const uint8_t *data, size_t size)
{
    struct dns_question question;
    uint8_t *wire = NULL;
    size_t written;
    int rcode;
    if (dns_question_read(data, size, &question, &rcode) == DNS_IGNORED)
        return;
    if (strlen(question.name) > DNS_NAME_MAX)
        abort();
    if (dns_refusal_write(&question, "a reason", &wire, &written) == 0)
        free(wire);
    dns_question_deinit(&question);
}

static bool check_alias(void *context, const char *name)
{
    (void)context;
    if (strlen(name) > DNS_NAME_MAX)
        abort();
    return true;
}

static void try_answer(const uint8_t *data, size_t size)
{
    static const char *const names[] = {"a.example", "www.example.com"};
    for (size_t i = 0; i < 2; i++) {
        struct dns_result result;
        uint32_t addresses[DNS_ANSWERS_MAX];
        bool truncated;
        if (size < 2 || dns_result_read(data, size, (uint16_t)(data[0] << 8 | data[1]), names[i],
                                        LDNS_RR_TYPE_A, &result, &truncated) < 0)
            continue;
        if (ldns_rr_list_rr_count(result.records) > DNS_ANSWERS_MAX)
            abort();
        dns_result_addresses(&result, addresses, DNS_ANSWERS_MAX);
        dns_result_each_alias(&result, check_alias, NULL);
        dns_result_deinit(&result);
    }
}

static void on_refused(void *context, const struct refused_packet *packet)
{
    (void)context;
    (void)packet;
}

static void try_proxy(const uint8_t *data, size_t size)
{
    struct proxy_hello hello = {.is_http = data[0] & 1,
                                .username = data[0] & 2 ? strdup("me") : NULL,
                                .password = data[0] & 2 ? strdup("secret") : NULL};
    buffer_auto out = BUFFER_INIT(PROXY_HELLO_MAX);
    size_t used;
    proxy_hello_begin(&hello, &out);
    enum proxy_result result = proxy_hello_take(&hello, data + 1, size - 1, &used, &out);
    if (used > size - 1 || (result == PROXY_MORE && used < size - 1) || buffer_overflowed(&out) ||
        (result == PROXY_REFUSED) != !!hello.reason)
        abort();
    proxy_hello_deinit(&hello);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (!size || size > 4096)
        return 0;
    if (data[0] % 4 == 3 && size > 1)
        try_proxy(data + 1, size - 1);
    else if (data[0] % 4 == 0)
        try_question(data + 1, size - 1);
    else if (data[0] % 4 == 1)
        try_answer(data + 1, size - 1);
    else
        netfilter_log_parse(data + 1, size - 1, on_refused, NULL);
    return 0;
}
