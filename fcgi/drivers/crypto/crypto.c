/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "crypto/crypto.h"

#include <sodium.h>
#include <stdbool.h>

#include "base/panic.h"

void crypto_init(void)
{
    static bool ready;
    if (ready)
        return;
    if (sodium_init() < 0)
        panic("libsodium cannot be initialised");
    ready = true;
}
