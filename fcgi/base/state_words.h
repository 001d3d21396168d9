/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The words of state_words.def. */
#pragma once

/* Return the word for a value of the API; a value without an own word is its word. Borrowed from
 * the table or the caller. */
const char *state_word(const char *value);

/* Return the value of the API for such a word, or the text itself. */
const char *state_of_word(const char *word);
