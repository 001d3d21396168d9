/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "unit/unit.h"

#include <openssl/pem.h>
#include <openssl/x509v3.h>

#include "base/mem.h"
#include "crypto/authority.h"

static X509 *parse(const char *pem)
{
    BIO *in = BIO_new_mem_buf(pem, -1);
    X509 *certificate = PEM_read_bio_X509(in, NULL, NULL, NULL);
    BIO_free(in);
    assert_non_null(certificate);
    return certificate;
}

/* As TLS does it on either side. */
static bool is_accepted(const struct certificate_pair *authority,
                        const struct certificate_pair *shown, int purpose, const char *name)
{
    X509_STORE *store = X509_STORE_new();
    X509 *trusted = parse(authority->certificate), *certificate = parse(shown->certificate);
    X509_STORE_CTX *context = X509_STORE_CTX_new();
    X509_STORE_add_cert(store, trusted);
    X509_STORE_CTX_init(context, store, certificate, NULL);
    X509_STORE_CTX_set_purpose(context, purpose);
    X509_VERIFY_PARAM_set1_host(X509_STORE_CTX_get0_param(context), name, 0);
    bool accepted = X509_verify_cert(context) == 1;
    X509_STORE_CTX_free(context);
    X509_STORE_free(store);
    X509_free(trusted);
    X509_free(certificate);
    return accepted;
}

static struct certificate_pair authority, other;

static int make_authorities(void **state)
{
    struct error *err = NULL;
    assert_ok(authority_new("one", 10, &authority, &err));
    assert_ok(authority_new("two", 10, &other, &err));
    return 0;
}

static int drop_authorities(void **state)
{
    certificate_pair_deinit(&authority);
    certificate_pair_deinit(&other);
    return 0;
}

/* A host cannot call another, and a front cannot stand for a host. */
TEST(roles)
{
    struct error *err = NULL;
    certificate_pair_auto front = {0}, host = {0};
    assert_ok(authority_sign(&authority, CERTIFICATE_OF_CALLER, "front.sandlot", 5, &front, &err));
    assert_ok(authority_sign(&authority, CERTIFICATE_OF_CALLED, "h1.host.sandlot", 5, &host, &err));
    assert_true(is_accepted(&authority, &front, X509_PURPOSE_SSL_CLIENT, "front.sandlot"));
    assert_true(is_accepted(&authority, &host, X509_PURPOSE_SSL_SERVER, "h1.host.sandlot"));
    assert_false(is_accepted(&authority, &front, X509_PURPOSE_SSL_SERVER, "front.sandlot"));
    assert_false(is_accepted(&authority, &host, X509_PURPOSE_SSL_CLIENT, "h1.host.sandlot"));
    assert_false(is_accepted(&authority, &host, X509_PURPOSE_SSL_SERVER, "h2.host.sandlot"));
    assert_false(is_accepted(&other, &host, X509_PURPOSE_SSL_SERVER, "h1.host.sandlot"));
}

/* What it has signed signs nothing itself. */
TEST(leaves_sign_nothing)
{
    struct error *err = NULL;
    certificate_pair_auto host = {0}, below = {0};
    assert_ok(authority_sign(&authority, CERTIFICATE_OF_CALLED, "h1.host.sandlot", 5, &host, &err));
    assert_ok(authority_sign(&host, CERTIFICATE_OF_CALLER, "front.sandlot", 5, &below, &err));
    assert_false(is_accepted(&authority, &below, X509_PURPOSE_SSL_CLIENT, "front.sandlot"));
    assert_false(is_accepted(&host, &below, X509_PURPOSE_SSL_CLIENT, "front.sandlot"));
}

TEST(renewal)
{
    struct error *err = NULL;
    certificate_pair_auto host = {0};
    assert_ok(authority_sign(&authority, CERTIFICATE_OF_CALLED, "h1.host.sandlot", 5, &host, &err));
    const char *ours = authority.certificate;
    assert_true(authority_signed(ours, host.certificate, "h1.host.sandlot", 4));
    assert_false(authority_signed(ours, host.certificate, "h1.host.sandlot", 6));
    assert_false(authority_signed(ours, host.certificate, "h2.host.sandlot", 4));
    assert_false(authority_signed(other.certificate, host.certificate, "h1.host.sandlot", 4));
    assert_false(authority_signed(ours, "", "h1.host.sandlot", 4));
}

TEST(pairs_that_renew)
{
    struct error *err = NULL;
    certificate_pair_auto before = {0}, after = {0}, elsewhere = {0}, foreign = {0};
    assert_ok(
        authority_sign(&authority, CERTIFICATE_OF_CALLED, "h1.host.sandlot", 5, &before, &err));
    assert_ok(
        authority_sign(&authority, CERTIFICATE_OF_CALLED, "h1.host.sandlot", 9, &after, &err));
    assert_ok(
        authority_sign(&authority, CERTIFICATE_OF_CALLED, "h2.host.sandlot", 9, &elsewhere, &err));
    assert_ok(authority_sign(&other, CERTIFICATE_OF_CALLED, "h1.host.sandlot", 9, &foreign, &err));
    const struct certificate_pair mixed = {after.certificate, before.key};
    const char *ours = authority.certificate;
    assert_true(authority_renews(ours, before.certificate, &after));
    assert_false(authority_renews(ours, after.certificate, &before));
    assert_false(authority_renews(ours, before.certificate, &before));
    assert_false(authority_renews(ours, before.certificate, &elsewhere));
    assert_false(authority_renews(ours, before.certificate, &foreign));
    assert_false(authority_renews(ours, before.certificate, &mixed));
    assert_false(authority_renews(ours, "", &after));
}

static void check_refused(const char *certificate, const char *key)
{
    struct error *err = NULL;
    certificate_pair_auto read = {0};
    assert_fails_saying(certificate_pair_read(certificate, key, &read, &err), ERR_INVALID_REQUEST,
                        "not the certificate of a host");
}

/* What a host stores is what was checked, and nothing behind it. */
TEST(pairs_from_outside)
{
    struct error *err = NULL;
    certificate_pair_auto host = {0}, front = {0}, read = {0};
    assert_ok(authority_sign(&authority, CERTIFICATE_OF_CALLED, "h1.host.sandlot", 5, &host, &err));
    assert_ok(authority_sign(&authority, CERTIFICATE_OF_CALLER, "front.sandlot", 5, &front, &err));
    autofree char *two = xasprintf("%s%s", host.certificate, authority.key);
    autofree char *keys = xasprintf("text\n%s%s", host.key, authority.key);
    assert_ok(certificate_pair_read(two, keys, &read, &err));
    assert_string_equal(read.certificate, host.certificate);
    assert_string_equal(read.key, host.key);
    check_refused("", "");
    check_refused("x", "y");
    check_refused(host.certificate, front.key);
    check_refused(host.key, host.certificate);
    check_refused(front.certificate, front.key);
    check_refused(authority.certificate, authority.key);
}

TEST(wrong_pairs)
{
    struct error *err = NULL;
    certificate_pair_auto made = {0};
    const struct certificate_pair mixed = {authority.certificate, other.key};
    const struct certificate_pair none = {(char *)(uintptr_t) "", (char *)(uintptr_t) ""};
    assert_fails_saying(authority_sign(&mixed, CERTIFICATE_OF_CALLED, "a", 1, &made, &err),
                        ERR_CONFIG, "does not belong to its certificate");
    assert_fails_saying(authority_sign(&none, CERTIFICATE_OF_CALLED, "a", 1, &made, &err),
                        ERR_CONFIG, "does not belong to its certificate");
}

TEST_GROUP(make_authorities, drop_authorities)
