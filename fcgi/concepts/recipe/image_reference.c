/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "recipe/image_reference.h"

#include <stdio.h>
#include <string.h>

#include "base/mem.h"
#include "base/str.h"

#define LOWER             "abcdefghijklmnopqrstuvwxyz"
#define DIGITS            "0123456789"
#define LETTERS           LOWER "ABCDEFGHIJKLMNOPQRSTUVWXYZ" DIGITS
#define SEPARATOR         ", \t"

#define DOCKER_HUB        "docker.io"            /* in names */
#define DOCKER_HUB_SERVER "registry-1.docker.io" /* docker.io itself answers with a web site */
#define OFFICIAL          "library/"             /* the folder of names without one at Docker Hub */

static int refuse(struct error **err, const char *name, const char *why)
{
    return error_set(err, ERR_INVALID_REQUEST, "\"%.200s\" is not the name of an image: %s.", name,
                     why);
}

/* A host name or an IPv4 address, and a port. */
static bool is_registry(const char *text)
{
    size_t host = strspn(text, LETTERS "-.");
    if (!host || host > 200 || *text == '-' || *text == '.')
        return false;
    if (!text[host])
        return true;
    size_t port = strspn(text + host + 1, DIGITS);
    return text[host] == ':' && port >= 1 && port <= 5 && !text[host + 1 + port];
}

/* The first part of a name is a registry when no folder of a repository looks like it. */
static bool names_registry(const char *first)
{
    return strpbrk(first, ".:") || str_equal(first, "localhost");
}

/* Lower-case words, joined by ".", "_", "__" or hyphens; slashes between them. */
static bool is_repository(const char *text)
{
    bool after_word = false;
    if (!*text || strlen(text) > 240)
        return false;
    for (const char *at = text; *at;) {
        size_t word = strspn(at, LOWER DIGITS);
        size_t joint = word ? 0 : strspn(at, "._-/");
        if (!word && (!joint || !after_word || !at[joint]))
            return false;
        bool is_joint = joint == 1 || (joint == 2 && !strncmp(at, "__", 2)) ||
                        (joint && strspn(at, "-") == joint);
        if (!word && !is_joint)
            return false;
        after_word = word;
        at += word ? word : joint;
    }
    return true;
}

static bool is_tag(const char *text)
{
    size_t length = strspn(text, LETTERS "_.-");
    return length && length <= 128 && !text[length] && *text != '.' && *text != '-';
}

static bool is_digest(const char *text)
{
    return str_starts_with(text, "sha256:") && strspn(text + 7, "0123456789abcdef") == 64 &&
           !text[71];
}

/* Cut tag and digest off the name; the rest is registry and repository. */
static int cut_version(char *rest, const char *name, struct image_reference *reference,
                       struct error **err)
{
    char *digest = strchr(rest, '@');
    if (digest) {
        *digest++ = '\0';
        if (!is_digest(digest))
            return refuse(err, name, "a digest is \"sha256:\" and 64 hexadecimal digits");
        snprintf(reference->digest, sizeof reference->digest, "%s", digest);
    }
    char *slash = strrchr(rest, '/');
    char *tag = strchr(slash ? slash : rest, ':');
    if (tag) {
        *tag++ = '\0';
        if (!is_tag(tag))
            return refuse(err, name,
                          "a tag has at most 128 letters, digits, \"_\", \".\" and \"-\"");
    }
    if (!digest)
        snprintf(reference->tag, sizeof reference->tag, "%s", tag ? tag : "latest");
    return 0;
}

static int set_place(const char *registry, const char *prefix, const char *repository,
                     struct image_reference *reference)
{
    int length =
        snprintf(reference->repository, sizeof reference->repository, "%s%s", prefix, repository);
    snprintf(reference->registry, sizeof reference->registry, "%.255s", registry);
    return is_registry(registry) && is_repository(reference->repository) &&
                   (size_t)length < sizeof reference->repository
               ? 0
               : -1;
}

bool image_is_empty(const char *name)
{
    return str_equal(name, "scratch");
}

bool image_reference_has_registry(const char *name)
{
    const char *slash = strchr(name, '/');
    autofree char *first = xstrndup(name, slash ? (size_t)(slash - name) : 0);
    return slash && names_registry(first);
}

int image_reference_parse(const char *name, const char *default_registry,
                          struct image_reference *reference, struct error **err)
{
    autofree char *rest = xstrdup(name);
    *reference = (struct image_reference){.registry = ""};
    if (cut_version(rest, name, reference, err) < 0)
        return -1;
    char *slash = strchr(rest, '/');
    if (slash)
        *slash = '\0';
    bool has_registry = slash && names_registry(rest);
    autofree char *first = xstrdup(rest);
    if (slash)
        *slash = '/';
    const char *repository = has_registry ? slash + 1 : rest;
    bool may_be_official = !has_registry || str_equal(first, DOCKER_HUB);
    if (!has_registry && !*default_registry)
        return error_set(err, ERR_NOT_SERVED,
                         "The image \"%.200s\" has no registry, and this deployment has no default "
                         "one. Write REGISTRY/REPOSITORY:TAG.",
                         name);
    if (set_place(has_registry ? first : default_registry,
                  may_be_official && !strchr(repository, '/') ? OFFICIAL : "", repository,
                  reference) == 0)
        return 0;
    return refuse(err, name, "it is written [REGISTRY/]REPOSITORY[:TAG][@DIGEST], in lower case");
}

/* --- mirrors --- */

/* Whether place begins with the parts of a path; *rest: behind them. */
static bool is_below(const char *place, const char *parts, const char **rest)
{
    size_t length = strlen(parts);
    if (strncmp(place, parts, length) != 0 || (place[length] && place[length] != '/'))
        return false;
    *rest = place + length;
    return true;
}

static int bad_mirror(const char *entry, struct error **err)
{
    return error_set(err, ERR_CONFIG,
                     "image_registry_mirrors: \"%.200s\" is not REGISTRY[/PATH]=REGISTRY[/PATH]",
                     entry);
}

/* Move the reference to the mirror of one entry, FROM=TO. */
static int apply(char *entry, struct image_reference *reference, bool *applied, struct error **err)
{
    autofree char *place = xasprintf("%s/%s", reference->registry, reference->repository);
    autofree char *kept = xstrdup(entry);
    char *to = strchr(entry, '=');
    const char *rest;
    if (!to || to == entry || !to[1])
        return bad_mirror(kept, err);
    *to++ = '\0';
    *applied = is_below(place, entry, &rest);
    if (!*applied)
        return 0;
    autofree char *there = xasprintf("%s%s", to, rest);
    char *slash = strchr(there, '/');
    if (!slash)
        return bad_mirror(kept, err);
    *slash = '\0';
    return set_place(there, "", slash + 1, reference) < 0 ? bad_mirror(kept, err) : 0;
}

static bool is_listed(const char *list, const char *registry)
{
    autofree char *copy = xstrdup(list);
    char *next = NULL;
    for (char *one = strtok_r(copy, SEPARATOR, &next); one; one = strtok_r(NULL, SEPARATOR, &next))
        if (str_equal(one, registry))
            return true;
    return false;
}

int image_reference_place(const struct settings *settings, struct image_reference *reference,
                          bool *plain_http, struct error **err)
{
    autofree char *mirrors = xstrdup(settings->image_registry_mirrors);
    char *next = NULL;
    bool applied = false;
    for (char *one = strtok_r(mirrors, SEPARATOR, &next); one && !applied;
         one = strtok_r(NULL, SEPARATOR, &next))
        if (apply(one, reference, &applied, err) < 0)
            return -1;
    if (str_equal(reference->registry, DOCKER_HUB))
        snprintf(reference->registry, sizeof reference->registry, DOCKER_HUB_SERVER);
    *plain_http = is_listed(settings->image_registries_http, reference->registry);
    return 0;
}

/* --- templates --- */

int image_reference_template(const struct settings *settings, const char *name, char **template,
                             struct error **err)
{
    autofree char *entries = xstrdup(settings->image_templates);
    char *next = NULL;
    *template = NULL;
    for (char *one = strtok_r(entries, SEPARATOR, &next); one && !*template;
         one = strtok_r(NULL, SEPARATOR, &next)) {
        char *slug = strchr(one, '=');
        if (!slug || slug == one || !slug[1])
            return error_set(err, ERR_CONFIG, "image_templates: \"%.200s\" is not IMAGE=TEMPLATE",
                             one);
        *slug++ = '\0';
        if (str_equal(one, name))
            *template = xasprintf("deployment/%s", slug);
    }
    return 0;
}
