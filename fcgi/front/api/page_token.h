/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * The next_token of lists: some bytes that name a row, and a MAC over them and the scope. The scope
 * is the text of all filters. So a token is valid for one list only.
 */
#pragma once

#include "base/buffer.h"
#include "crypto/keyring.h"

#define PAGE_TOKEN_SIZE      128
#define PAGE_TOKEN_BYTES_MAX 32

/* Write the token of at most PAGE_TOKEN_BYTES_MAX bytes. Errors: ERR_INTERNAL (the scope is larger
 * than its buffer), and those of the key ring. */
int page_token_write(const struct keyring *ring, const void *bytes, size_t size,
                     const struct buffer *scope, char token[PAGE_TOKEN_SIZE], struct error **err);

/* Read the bytes of a token. Return false if it was not written for this scope. */
bool page_token_read(const struct keyring *ring, const char *token, const struct buffer *scope,
                     void *bytes, size_t size);
