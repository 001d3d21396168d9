/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "crypto/authority.h"

#include <openssl/bio.h>
#include <openssl/ec.h>
#include <openssl/pem.h>
#include <openssl/x509v3.h>
#include <stdio.h>
#include <string.h>
#include <time.h>

#include "base/cleanup.h"
#include "base/mem.h"
#include "crypto/mac.h"

#define SERIAL_BYTES 16
/* A machine whose clock is behind takes a new certificate too. */
#define BEGAN_S   -86400L
#define DAY_S     86400L
#define VERSION_3 2

void certificate_pair_deinit(struct certificate_pair *pair)
{
    if (pair->key)
        mem_wipe(pair->key, strlen(pair->key));
    free(pair->key);
    free(pair->certificate);
    *pair = (struct certificate_pair){0};
}

static void free_certificate(X509 **certificate)
{
    X509_free(*certificate);
}
#define autocertificate __attribute__((cleanup(free_certificate))) X509

static void free_key(EVP_PKEY **key)
{
    EVP_PKEY_free(*key);
}
#define autokey __attribute__((cleanup(free_key))) EVP_PKEY

/* --- PEM --- */

static char *text_of(BIO *bio)
{
    char *data;
    long size = BIO_get_mem_data(bio, &data);
    char *text = size > 0 ? xstrndup(data, (size_t)size) : NULL;
    if (size > 0)
        mem_wipe(data, (size_t)size);
    BIO_free(bio);
    return text;
}

static int write_pair(X509 *certificate, EVP_PKEY *key, struct certificate_pair *pair)
{
    BIO *certificate_out = BIO_new(BIO_s_mem()), *key_out = BIO_new(BIO_s_mem());
    bool written = certificate_out && key_out && PEM_write_bio_X509(certificate_out, certificate) &&
                   PEM_write_bio_PrivateKey(key_out, key, NULL, NULL, 0, NULL, NULL);
    certificate_pair_deinit(pair);
    pair->certificate = certificate_out ? text_of(certificate_out) : NULL;
    pair->key = key_out ? text_of(key_out) : NULL;
    return written && pair->certificate && pair->key ? 0 : -1;
}

/* Never asks a terminal for a passphrase. */
static int no_passphrase(char *out, int size, int writing, void *context)
{
    (void)out;
    (void)size;
    (void)writing;
    (void)context;
    return -1;
}

static X509 *read_certificate(const char *pem)
{
    BIO *in = BIO_new_mem_buf(pem, -1);
    X509 *certificate = in ? PEM_read_bio_X509(in, NULL, no_passphrase, NULL) : NULL;
    BIO_free(in);
    return certificate;
}

static EVP_PKEY *read_key(const char *pem)
{
    BIO *in = BIO_new_mem_buf(pem, -1);
    EVP_PKEY *key = in ? PEM_read_bio_PrivateKey(in, NULL, no_passphrase, NULL) : NULL;
    BIO_free(in);
    return key;
}

/* Return whether a host may show a certificate, and neither a front node nor an authority. */
static bool is_of_host(X509 *certificate)
{
    return X509_check_ca(certificate) == 0 &&
           X509_check_purpose(certificate, X509_PURPOSE_SSL_SERVER, 0) == 1;
}

int certificate_pair_read(const char *certificate, const char *key, struct certificate_pair *pair,
                          struct error **err)
{
    autocertificate *read = read_certificate(certificate);
    autokey *read_one = read_key(key);
    if (read && read_one && EVP_PKEY_is_a(read_one, "EC") && is_of_host(read) &&
        X509_check_private_key(read, read_one) == 1 && write_pair(read, read_one, pair) == 0)
        return 0;
    return error_set(err, ERR_INVALID_REQUEST,
                     "These are not the certificate of a host and its key.");
}

/* --- a certificate --- */

static bool set_serial(X509 *certificate)
{
    unsigned char bytes[SERIAL_BYTES];
    random_fill(bytes, sizeof bytes);
    bytes[0] &= 0x7f; /* a positive number */
    BIGNUM *number = BN_bin2bn(bytes, sizeof bytes, NULL);
    bool set = number && BN_to_ASN1_INTEGER(number, X509_get_serialNumber(certificate));
    BN_free(number);
    return set;
}

/* A longer name is in the extension alone, as a whole, where programs look for it. */
static bool set_subject(X509 *certificate, const char *name)
{
    X509_NAME *subject = X509_get_subject_name(certificate);
    return X509_NAME_add_entry_by_txt(subject, "CN", MBSTRING_UTF8, (const unsigned char *)name,
                                      (int)strnlen(name, ub_common_name), -1, 0);
}

static bool add_extension(X509 *certificate, X509 *issuer, int id, const char *value)
{
    X509V3_CTX context;
    X509V3_set_ctx_nodb(&context);
    X509V3_set_ctx(&context, issuer, certificate, NULL, NULL, 0);
    X509_EXTENSION *extension = X509V3_EXT_conf_nid(NULL, &context, id, value);
    bool added = extension && X509_add_ext(certificate, extension, -1);
    X509_EXTENSION_free(extension);
    return added;
}

static X509 *begin_certificate(const char *name, unsigned days, EVP_PKEY *key)
{
    X509 *certificate = X509_new();
    if (certificate && X509_set_version(certificate, VERSION_3) && set_serial(certificate) &&
        set_subject(certificate, name) && X509_set_pubkey(certificate, key) &&
        X509_gmtime_adj(X509_getm_notBefore(certificate), BEGAN_S) &&
        X509_gmtime_adj(X509_getm_notAfter(certificate), (long)days * DAY_S))
        return certificate;
    X509_free(certificate);
    return NULL;
}

int authority_new(const char *name, unsigned days, struct certificate_pair *authority,
                  struct error **err)
{
    autokey *key = EVP_EC_gen("P-256");
    autocertificate *certificate = key ? begin_certificate(name, days, key) : NULL;
    if (certificate && X509_set_issuer_name(certificate, X509_get_subject_name(certificate)) &&
        add_extension(certificate, certificate, NID_basic_constraints,
                      "critical,CA:TRUE,pathlen:0") &&
        add_extension(certificate, certificate, NID_key_usage, "critical,keyCertSign,cRLSign") &&
        add_extension(certificate, certificate, NID_subject_key_identifier, "hash") &&
        X509_sign(certificate, key, EVP_sha256()) && write_pair(certificate, key, authority) == 0)
        return 0;
    return error_set(err, ERR_INTERNAL, "cannot create a certificate authority");
}

static bool add_leaf_extensions(X509 *certificate, X509 *issuer, enum certificate_role role,
                                const char *name)
{
    autofree char *names = xasprintf("DNS:%s", name);
    return add_extension(certificate, issuer, NID_basic_constraints, "critical,CA:FALSE") &&
           add_extension(certificate, issuer, NID_key_usage, "critical,digitalSignature") &&
           add_extension(certificate, issuer, NID_ext_key_usage,
                         role == CERTIFICATE_OF_CALLER ? "clientAuth" : "serverAuth") &&
           add_extension(certificate, issuer, NID_subject_alt_name, names) &&
           add_extension(certificate, issuer, NID_subject_key_identifier, "hash") &&
           add_extension(certificate, issuer, NID_authority_key_identifier, "keyid:always");
}

int authority_sign(const struct certificate_pair *authority, enum certificate_role role,
                   const char *name, unsigned days, struct certificate_pair *pair,
                   struct error **err)
{
    autocertificate *issuer = read_certificate(authority->certificate);
    autokey *issuer_key = read_key(authority->key);
    if (!issuer || !issuer_key || !X509_check_private_key(issuer, issuer_key))
        return error_set(err, ERR_CONFIG, "the authority's key does not belong to its certificate");
    autokey *key = EVP_EC_gen("P-256");
    autocertificate *certificate = key ? begin_certificate(name, days, key) : NULL;
    if (certificate && X509_set_issuer_name(certificate, X509_get_subject_name(issuer)) &&
        add_leaf_extensions(certificate, issuer, role, name) &&
        X509_sign(certificate, issuer_key, EVP_sha256()) && write_pair(certificate, key, pair) == 0)
        return 0;
    return error_set(err, ERR_INTERNAL, "cannot create a certificate for %s", name);
}

bool authority_signed(const char *authority, const char *certificate, const char *name,
                      unsigned days)
{
    autocertificate *issuer = read_certificate(authority);
    autocertificate *signed_one = read_certificate(certificate);
    time_t until = time(NULL) + (time_t)days * DAY_S;
    return issuer && signed_one && X509_verify(signed_one, X509_get0_pubkey(issuer)) == 1 &&
           X509_check_host(signed_one, name, 0, 0, NULL) == 1 &&
           X509_cmp_time(X509_get0_notAfter(signed_one), &until) > 0;
}

/* The first DNS name of a certificate, which the caller frees; NULL: it has none. */
static char *name_of(X509 *certificate)
{
    GENERAL_NAMES *names = X509_get_ext_d2i(certificate, NID_subject_alt_name, NULL, NULL);
    const GENERAL_NAME *first =
        names && sk_GENERAL_NAME_num(names) > 0 ? sk_GENERAL_NAME_value(names, 0) : NULL;
    char *name = NULL;
    if (first && first->type == GEN_DNS)
        name = xstrndup((const char *)ASN1_STRING_get0_data(first->d.dNSName),
                        (size_t)ASN1_STRING_length(first->d.dNSName));
    GENERAL_NAMES_free(names);
    return name;
}

bool authority_renews(const char *authority, const char *before,
                      const struct certificate_pair *pair)
{
    autocertificate *old = read_certificate(before), *fresh = read_certificate(pair->certificate);
    autokey *key = read_key(pair->key);
    autofree char *name = old ? name_of(old) : NULL;
    return name && key && authority_signed(authority, pair->certificate, name, 0) &&
           X509_check_private_key(fresh, key) == 1 &&
           ASN1_TIME_compare(X509_get0_notAfter(fresh), X509_get0_notAfter(old)) > 0;
}
