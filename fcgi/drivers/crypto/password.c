/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "crypto/password.h"

#include <sodium.h>
#include <string.h>

#include "base/mem.h"
#include "crypto/crypto.h"

#define PASSES 3 /* as PASSWORD_MEMORY wants */

_Static_assert(PASSWORD_HASH_SIZE == crypto_pwhash_STRBYTES, "the text of a hash fits");

int password_hash(const char *password, char out[PASSWORD_HASH_SIZE], struct error **err)
{
    crypto_init();
    if (crypto_pwhash_str_alg(out, password, strlen(password), PASSES, PASSWORD_MEMORY,
                              crypto_pwhash_ALG_ARGON2ID13) == 0)
        return 0;
    return error_set(err, ERR_INTERNAL, "cannot hash a password: out of memory");
}

bool password_matches(const char *hash, const char *password)
{
    char spent[PASSWORD_HASH_SIZE];
    error_auto ignored = NULL;
    crypto_init();
    if (hash)
        return crypto_pwhash_str_verify(hash, password, strlen(password)) == 0;
    if (password_hash(password, spent, &ignored) == 0)
        mem_wipe(spent, sizeof spent);
    return false;
}
