/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "crypto/lockbox.h"

#include <sodium.h>
#include <string.h>

#include "base/panic.h"
#include "crypto/crypto.h"

/* The prefix of locked bytes, and the kind of key that opens them. */
#define MAGIC_SIZE 16
static const char by_passphrase[MAGIC_SIZE + 1] = "sandlot-locked-p";
static const char by_key[MAGIC_SIZE + 1] = "sandlot-locked-k";

struct passphrase_head {
    char magic[MAGIC_SIZE];
    unsigned char salt[crypto_pwhash_SALTBYTES];
    unsigned char nonce[crypto_secretbox_NONCEBYTES];
};

static void derive(const char *passphrase, const struct passphrase_head *head,
                   unsigned char key[crypto_secretbox_KEYBYTES])
{
    if (crypto_pwhash(key, crypto_secretbox_KEYBYTES, passphrase, strlen(passphrase), head->salt,
                      crypto_pwhash_OPSLIMIT_MODERATE, crypto_pwhash_MEMLIMIT_MODERATE,
                      crypto_pwhash_ALG_ARGON2ID13) != 0)
        panic("out of memory");
}

static void read_key(const char *text, unsigned char key[crypto_box_SECRETKEYBYTES], bool *valid)
{
    size_t size = 0;
    const char *end = NULL;
    *valid = strlen(text) == LOCKBOX_KEY_SIZE - 1 &&
             sodium_hex2bin(key, crypto_box_SECRETKEYBYTES, text, strlen(text), NULL, &size,
                            &end) == 0 &&
             size == crypto_box_SECRETKEYBYTES;
}

/* --- locking --- */

static int close_by_passphrase(const char *passphrase, const void *data, size_t size,
                               struct buffer *out)
{
    struct passphrase_head head;
    unsigned char key[crypto_secretbox_KEYBYTES];
    memcpy(head.magic, by_passphrase, MAGIC_SIZE);
    randombytes_buf(head.salt, sizeof head.salt);
    randombytes_buf(head.nonce, sizeof head.nonce);
    buffer_append(out, &head, sizeof head);
    unsigned char *room = (unsigned char *)buffer_reserve(out, size + crypto_secretbox_MACBYTES);
    if (!room)
        return -1;
    derive(passphrase, &head, key);
    crypto_secretbox_easy(room, data, size, head.nonce, key);
    sodium_memzero(key, sizeof key);
    buffer_commit(out, size + crypto_secretbox_MACBYTES);
    return 0;
}

static int close_by_key(const unsigned char *key, const void *data, size_t size, struct buffer *out)
{
    buffer_append(out, by_key, MAGIC_SIZE);
    unsigned char *room = (unsigned char *)buffer_reserve(out, size + crypto_box_SEALBYTES);
    if (!room || crypto_box_seal(room, data, size, key) != 0)
        return -1;
    buffer_commit(out, size + crypto_box_SEALBYTES);
    return 0;
}

int lockbox_close(const struct lockbox_with *with, const void *data, size_t size,
                  struct buffer *out, struct error **err)
{
    unsigned char key[crypto_box_PUBLICKEYBYTES];
    bool valid = true;
    crypto_init();
    if (with->key)
        read_key(with->key, key, &valid);
    if (!valid)
        return error_set(err, ERR_CONFIG, "a recipient's key is %d hexadecimal digits",
                         LOCKBOX_KEY_SIZE - 1);
    int result = with->key ? close_by_key(key, data, size, out)
                           : close_by_passphrase(with->passphrase, data, size, out);
    return result == 0
               ? 0
               : error_set(err, ERR_CONFIG, "cannot encrypt the data for this recipient's key");
}

/* --- opening --- */

static int open_by_passphrase(const char *passphrase, const unsigned char *data, size_t size,
                              unsigned char *room)
{
    struct passphrase_head head;
    unsigned char key[crypto_secretbox_KEYBYTES];
    memcpy(&head, data, sizeof head);
    derive(passphrase, &head, key);
    int result =
        crypto_secretbox_open_easy(room, data + sizeof head, size - sizeof head, head.nonce, key);
    sodium_memzero(key, sizeof key);
    return result;
}

static int open_by_key(const char *text, const unsigned char *data, size_t size,
                       unsigned char *room)
{
    unsigned char private_key[crypto_box_SECRETKEYBYTES], public_key[crypto_box_PUBLICKEYBYTES];
    bool valid;
    read_key(text, private_key, &valid);
    int result = valid ? crypto_scalarmult_base(public_key, private_key) : -1;
    if (result == 0)
        result = crypto_box_seal_open(room, data + MAGIC_SIZE, size - MAGIC_SIZE, public_key,
                                      private_key);
    sodium_memzero(private_key, sizeof private_key);
    return result;
}

static bool begins(const void *data, size_t size, const char *magic, size_t least)
{
    return size >= least && memcmp(data, magic, MAGIC_SIZE) == 0;
}

int lockbox_open(const struct lockbox_with *with, const void *data, size_t size, struct buffer *out,
                 struct error **err)
{
    size_t overhead = with->key ? MAGIC_SIZE + crypto_box_SEALBYTES
                                : sizeof(struct passphrase_head) + crypto_secretbox_MACBYTES;
    const char *wanted = with->key ? by_key : by_passphrase;
    crypto_init();
    if (!begins(data, size, by_key, MAGIC_SIZE) && !begins(data, size, by_passphrase, MAGIC_SIZE))
        return error_set(err, ERR_CONFIG, "the data is not a file that sandlotctl has encrypted");
    if (!begins(data, size, wanted, MAGIC_SIZE))
        return error_set(err, ERR_CONFIG, "the data is encrypted with a %s; give that",
                         with->key ? "passphrase" : "recipient's key");
    char *room = size >= overhead ? buffer_reserve(out, size - overhead + 1) : NULL;
    if (!room ||
        (with->key ? open_by_key(with->key, data, size, (unsigned char *)room)
                   : open_by_passphrase(with->passphrase, data, size, (unsigned char *)room)) != 0)
        return error_set(
            err, ERR_CONFIG,
            "cannot decrypt the data: the %s is wrong, or the data was changed or cut off",
            with->key ? "key" : "passphrase");
    buffer_commit(out, size - overhead);
    return 0;
}

void lockbox_new_pair(char private_key[LOCKBOX_KEY_SIZE], char public_key[LOCKBOX_KEY_SIZE])
{
    unsigned char secret[crypto_box_SECRETKEYBYTES], open[crypto_box_PUBLICKEYBYTES];
    crypto_init();
    crypto_box_keypair(open, secret);
    sodium_bin2hex(private_key, LOCKBOX_KEY_SIZE, secret, sizeof secret);
    sodium_bin2hex(public_key, LOCKBOX_KEY_SIZE, open, sizeof open);
    sodium_memzero(secret, sizeof secret);
}
