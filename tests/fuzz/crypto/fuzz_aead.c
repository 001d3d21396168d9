/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Sealed values as a damaged or hostile database would hand them over. The same bytes are also
 * sealed and must open again, and no cut of what was sealed may open.
 */
#include <assert.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

#include "crypto/aead.h"
#include "crypto/keyring_file.h"

#define OVERHEAD (1 + 2 + 24 + 16)

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size);

static const struct keyring *fixed_ring(void)
{
    static const char keys[] =
        "1 00112233445566778899aabbccddeeff00112233445566778899aabbccddeeff\n"
        "2 ffeeddccbbaa99887766554433221100ffeeddccbbaa99887766554433221100\n";
    static struct keyring *ring;
    error_auto err = NULL;
    if (!ring && keyring_parse(keys, sizeof keys - 1, &ring, &err) < 0)
        abort();
    return ring;
}

static void open_foreign(const uint8_t *data, size_t size)
{
    error_auto err = NULL;
    buffer_auto plain = BUFFER_INIT(1 << 20);
    int result = aead_open(fixed_ring(), data, size, "sbx_1", &plain, &err);
    assert(result == 0 ? !err && plain.size + OVERHEAD == size
                       : err && err->code == ERR_INTERNAL && plain.size == 0);
}

static void come_back(const uint8_t *data, size_t size)
{
    error_auto err = NULL;
    buffer_auto sealed = BUFFER_INIT(1 << 20);
    buffer_auto plain = BUFFER_INIT(1 << 20);
    if (aead_seal(fixed_ring(), data, size, "sbx_1", &sealed, &err) < 0 ||
        aead_open(fixed_ring(), sealed.data, sealed.size, "sbx_1", &plain, &err) < 0)
        abort();
    assert(plain.size == size && (!size || memcmp(plain.data, data, size) == 0));
    size_t cut = size ? data[0] % sealed.size : 0;
    int result = aead_open(fixed_ring(), sealed.data, cut, "sbx_1", &plain, &err);
    assert(result < 0);
}

int LLVMFuzzerTestOneInput(const uint8_t *data, size_t size)
{
    if (size > 65536)
        return 0;
    open_foreign(data, size);
    come_back(data, size);
    return 0;
}
