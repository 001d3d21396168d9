/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "crypto/crypto.h"

#include <sodium.h>
#include <stdbool.h>
#include <stdlib.h>

void crypto_init(void)
{
    static bool ready;
    if (ready)
        return;
    if (sodium_init() < 0)
        abort();
    ready = true;
}
