/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "ctl/certificate.h"

#include <errno.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <sodium.h>
#include <stdbool.h>
#include <stdio.h>
#include <string.h>

#include "base/clock.h"
#include "base/mem.h"
#include "crypto/mac.h"

#define PEM_MAX   65536
#define PEM_BEGIN "-----BEGIN CERTIFICATE-----"
#define PEM_END   "-----END CERTIFICATE-----"

enum der_tag {
    DER_INTEGER = 0x02,
    DER_UTC_TIME = 0x17,
    DER_GENERALIZED_TIME = 0x18,
    DER_SEQUENCE = 0x30,
    DER_VERSION = 0xa0, /* [0], of a certificate's version */
};

struct der {
    const unsigned char *at;
    size_t left;
};

/* Take one element off the front; contents may be NULL. Returns its tag, or -1. */
static int der_take(struct der *in, struct der *contents)
{
    if (in->left < 2)
        return -1;
    int tag = in->at[0];
    size_t head = 2, size = in->at[1];
    if (size & 0x80) {
        size_t bytes = size & 0x7f;
        if (bytes < 1 || bytes > 4 || in->left < 2 + bytes)
            return -1;
        for (size = 0; head < 2 + bytes; head++)
            size = size << 8 | in->at[head];
    }
    if (size > in->left - head)
        return -1;
    if (contents)
        *contents = (struct der){in->at + head, size};
    in->at += head + size;
    in->left -= head + size;
    return tag;
}

static bool der_skip(struct der *in, enum der_tag tag)
{
    return der_take(in, NULL) == (int)tag;
}

/* "YYMMDDHHMMSSZ" or "YYYYMMDDHHMMSSZ"; two digits from 50 on mean the last century. */
static int parse_time(int tag, const struct der *time, int64_t *at_ms)
{
    char digits[16], text[CLOCK_ISO8601_SIZE];
    size_t size = tag == DER_UTC_TIME ? 13 : 15;
    if ((tag != DER_UTC_TIME && tag != DER_GENERALIZED_TIME) || time->left != size)
        return -1;
    if (tag == DER_UTC_TIME)
        memcpy(digits, time->at[0] >= '5' ? "19" : "20", 2);
    memcpy(digits + (15 - size), time->at, size);
    digits[15] = '\0';
    if (digits[14] != 'Z' || strspn(digits, "0123456789") != 14)
        return -1;
    snprintf(text, sizeof text, "%.4s-%.2s-%.2sT%.2s:%.2s:%.2sZ", digits, digits + 4, digits + 6,
             digits + 8, digits + 10, digits + 12);
    return clock_parse_iso8601(text, at_ms);
}

int certificate_der_expiry(const unsigned char *der, size_t size, int64_t *expires_at_ms)
{
    struct der file = {der, size}, certificate, body, validity, time;
    if (der_take(&file, &certificate) != DER_SEQUENCE ||
        der_take(&certificate, &body) != DER_SEQUENCE)
        return -1;
    if (body.left && body.at[0] == DER_VERSION && !der_skip(&body, DER_VERSION))
        return -1;
    /* serialNumber, signature, issuer, then validity: notBefore, notAfter */
    if (!der_skip(&body, DER_INTEGER) || !der_skip(&body, DER_SEQUENCE) ||
        !der_skip(&body, DER_SEQUENCE) || der_take(&body, &validity) != DER_SEQUENCE ||
        der_take(&validity, NULL) < 0)
        return -1;
    int tag = der_take(&validity, &time);
    return parse_time(tag, &time, expires_at_ms);
}

/* The first certificate between its PEM lines. */
static int decode_pem(const char *text, unsigned char der[PEM_MAX], size_t *size)
{
    const char *begin = strstr(text, PEM_BEGIN);
    const char *end = begin ? strstr(begin, PEM_END) : NULL;
    if (!end)
        return -1;
    begin += strlen(PEM_BEGIN);
    return sodium_base642bin(der, PEM_MAX, begin, (size_t)(end - begin), " \r\n\t", size, NULL,
                             sodium_base64_VARIANT_ORIGINAL);
}

int certificate_expiry(const char *path, int64_t *expires_at_ms, struct error **err)
{
    autofree char *text = xcalloc(1, PEM_MAX + 1);
    autofree unsigned char *der = xmalloc(PEM_MAX);
    size_t size;
    autofclose FILE *file = fopen(path, "re");
    if (!file)
        return error_set_errno(err, ERR_CONFIG, errno, "cannot read %s", path);
    text[fread(text, 1, PEM_MAX, file)] = '\0';
    if (decode_pem(text, der, &size) < 0 || certificate_der_expiry(der, size, expires_at_ms) < 0)
        return error_set(err, ERR_CONFIG, "%s does not begin with a certificate in PEM form", path);
    return 0;
}

bool certificate_is_for(const char *path, const char *host)
{
    autofclose FILE *file = fopen(path, "re");
    X509 *certificate = file ? PEM_read_X509(file, NULL, NULL, NULL) : NULL;
    bool found = certificate && X509_check_host(certificate, host, 0, 0, NULL) == 1;
    X509_free(certificate);
    return found;
}

int certificate_pin(const char *path, char pin[CERTIFICATE_PIN_SIZE], struct error **err)
{
    autofclose FILE *file = fopen(path, "re");
    X509 *certificate = file ? PEM_read_X509(file, NULL, NULL, NULL) : NULL;
    unsigned char *key = NULL, hash[crypto_hash_sha256_BYTES];
    int size = certificate ? i2d_X509_PUBKEY(X509_get_X509_PUBKEY(certificate), &key) : -1;
    X509_free(certificate);
    if (size <= 0)
        return error_set(err, ERR_CONFIG, "%s does not begin with a certificate in PEM form", path);
    crypto_hash_sha256(hash, key, (unsigned long long)size);
    OPENSSL_free(key);
    snprintf(pin, CERTIFICATE_PIN_SIZE, "sha256//");
    base64_encode(hash, sizeof hash, pin + strlen(pin));
    return 0;
}
