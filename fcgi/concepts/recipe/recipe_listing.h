/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Listings of archives: a hash of each file, so that a step counts only the files that it copies.
 * Times do not count, as in Docker.
 */
#pragma once

#include <jansson.h>
#include <stdbool.h>
#include <stddef.h>

#define RECIPE_LISTING_KEY_SIZE 65

/* Bytes of an archive: as in struct recipe_upload. */
struct recipe_bytes {
    long (*read)(void *context, char *data, size_t size);
    void *context;
};

/* List an archive (tar, gzip or not). Returns a text, which the caller frees, or NULL. It is NULL
 * if the archive is damaged, too large when it is unpacked, or has entries whose content depends on
 * other entries. It is also NULL if the text has more than `most` bytes. Then the whole archive
 * counts. */
char *recipe_listing_make(const struct recipe_bytes *bytes, size_t most);

/* How much work all steps of a recipe may cause: some tenths of a second. A unit is about the
 * comparison of two characters. */
#define RECIPE_LISTING_WORK ((size_t)128 << 20)

/* Take the work to read a listing from its JSON. Returns false if too little is left. */
bool recipe_listing_take_work(const json_t *listing, size_t *left);

/* Write a hash of all files that a step with this source copies. key "": the source can lead to
 * other files, for example through a link, or *left does not suffice. The caller then uses the hash
 * of the whole archive. listing: its text as JSON. */
void recipe_listing_key(const json_t *listing, const char *source, size_t *left,
                        char key[RECIPE_LISTING_KEY_SIZE]);
