/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "firewall/kernel.h"

#include <nftables/libnftables.h>
#include <stdlib.h>
#include <string.h>

#include "base/mem.h"
#include "firewall/netfilter.h"
#include "firewall/nft_batch.h"

#define MESSAGE_MAX 300 /* bytes of a message of nftables in an error */

struct kernel {
    struct nft_ctx *nft;
    struct netfilter netfilter;
    struct buffer batch;
};

int kernel_open(struct kernel **kernel, struct error **err)
{
    struct nft_ctx *nft = nft_ctx_new(NFT_CTX_DEFAULT);
    if (!nft)
        return error_set(err, ERR_CONFIG, "cannot initialise libnftables");
    nft_ctx_output_set_flags(nft, NFT_CTX_OUTPUT_JSON | NFT_CTX_OUTPUT_NUMERIC_ALL);
    if (nft_ctx_buffer_output(nft) || nft_ctx_buffer_error(nft)) {
        nft_ctx_free(nft);
        return error_set(err, ERR_CONFIG, "cannot initialise libnftables");
    }
    *kernel = xcalloc(1, sizeof **kernel);
    (*kernel)->nft = nft;
    (*kernel)->netfilter = NETFILTER_INIT;
    buffer_init(&(*kernel)->batch, NFT_BATCH_MAX);
    return 0;
}

void kernel_close(struct kernel *kernel)
{
    if (!kernel)
        return;
    nft_ctx_free(kernel->nft);
    netfilter_close(&kernel->netfilter);
    buffer_deinit(&kernel->batch);
    free(kernel);
}

/* Set an error from the first line of the message; the others repeat the command. */
static int refused(struct kernel *kernel, struct error **err)
{
    const char *message = nft_ctx_get_error_buffer(kernel->nft);
    size_t size = strcspn(message, "\n");
    return error_set(err, ERR_RUNTIME_REFUSED, "nftables: %.*s",
                     (int)(size < MESSAGE_MAX ? size : MESSAGE_MAX), message);
}

static int run_by_library(struct kernel *kernel, json_t *commands, struct error **err)
{
    json_auto_t *document = json_pack("{s:O}", "nftables", commands);
    autofree char *text = json_dumps(document, JSON_COMPACT);
    if (nft_run_cmd_from_buffer(kernel->nft, text) != 0)
        return refused(kernel, err);
    return 0;
}

/* Add the refused command to an error, cut to the length of a log line. */
static int refused_command(json_t *commands, uint32_t number, struct error **err)
{
    autofree char *text =
        number ? json_dumps(json_array_get(commands, number - 1), JSON_COMPACT) : NULL;
    if (text)
        error_context(err, "%.*s", MESSAGE_MAX, text);
    return -1;
}

int kernel_run(struct kernel *kernel, json_t *commands, struct error **err)
{
    uint32_t failed;
    buffer_clear(&kernel->batch);
    if (!nft_batch_write(&kernel->batch, commands))
        return run_by_library(kernel, commands, err);
    if (netfilter_change(&kernel->netfilter, kernel->batch.data, kernel->batch.size,
                         (uint32_t)json_array_size(commands), &failed, err) == 0)
        return 0;
    return refused_command(commands, failed, err);
}

int kernel_table_handle(struct kernel *kernel, const char *table, uint64_t *handle,
                        struct error **err)
{
    return netfilter_table_handle(&kernel->netfilter, table, handle, err);
}

int kernel_query(struct kernel *kernel, json_t *commands, json_t **answer, struct error **err)
{
    if (kernel_run(kernel, commands, err) < 0)
        return -1;
    json_auto_t *document = json_loads(nft_ctx_get_output_buffer(kernel->nft), 0, NULL);
    *answer = json_incref(json_object_get(document, "nftables"));
    if (!*answer)
        return error_set(err, ERR_RUNTIME_REFUSED, "nftables gave no answer");
    return 0;
}
