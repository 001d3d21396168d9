/* SPDX-License-Identifier: GPL-2.0-or-later */
/* Places, words and variables of Dockerfiles; for this folder only. */
#pragma once

#include "base/buffer.h"
#include "dockerfile/dockerfile.h"

const char *dockerfile_kind_name(enum dockerfile_kind kind);
/* Return the instruction that a text begins with, in any case; DOCKERFILE_KINDS: it has no
 * instruction. *length: of the text's first word. */
enum dockerfile_kind dockerfile_kind_at(const char *text, size_t *length);

/* Refuse the place in the source. Returns -1. */
int dockerfile_refuse_source(const struct dockerfile *file, size_t source, struct error **err,
                             const char *format, ...) __attribute__((format(printf, 4, 5)));
/* Refuse the place in the text of an instruction. Returns -1. */
int dockerfile_refuse(const struct dockerfile *file, const struct dockerfile_instruction *one,
                      size_t at, struct error **err, const char *format, ...)
    __attribute__((format(printf, 5, 6)));

/* Return the line of a place in the source, from 1. */
unsigned dockerfile_line(const struct dockerfile *file, size_t source);
/* Return a place in the text of an instruction: [line, column]. */
json_t *dockerfile_place(const struct dockerfile *file, const struct dockerfile_instruction *one,
                         size_t at);

bool dockerfile_is_blank(char c);

/* Return whether instructions of this kind have here-documents. */
bool dockerfile_has_heredocs(enum dockerfile_kind kind);

/* A word of an instruction: where it is in the text. Blanks in quotes do not end it, and in "<<
 * EOF" the first blank does not. */
struct dockerfile_word {
    size_t at, length;
};
/* Find the next word from *at, and move *at behind it. False: the text has ended. */
bool dockerfile_word_next(const struct dockerfile *file, const struct dockerfile_instruction *one,
                          size_t *at, struct dockerfile_word *word);

/* The variables that an instruction sees. A value in env is a string, or null: only the sandbox of
 * the build knows it. A value in args is a string, a list with an open text, or null: declared
 * without a value. */
struct dockerfile_scope {
    json_t *env, *args;
    bool whole;       /* there are no other variables */
    size_t *expanded; /* bytes of the plan's words so far */
};

/* A text after expansion. With is_open, variables of the sandbox are left in it, in the form of
 * recipe_expand(), and a dollar sign is written as \$. */
struct dockerfile_value {
    char *text;
    bool is_open;
};

/* Remove the quotes of a part of an instruction's text, and expand its variables. The caller frees
 * value->text, also after an error. */
int dockerfile_expand(const struct dockerfile *file, const struct dockerfile_instruction *one,
                      const struct dockerfile_word *word, const struct dockerfile_scope *scope,
                      struct dockerfile_value *value, struct error **err);

/* A text that belongs to a place of an instruction: a here-document, or a string of an array. */
struct dockerfile_apart {
    size_t at;
    const char *text;
};
/* Expand the variables of such a text; its quotes stay. The caller frees value->text, also
 * after an error. */
int dockerfile_expand_text(const struct dockerfile *file, const struct dockerfile_instruction *one,
                           const struct dockerfile_apart *apart,
                           const struct dockerfile_scope *scope, struct dockerfile_value *value,
                           struct error **err);

/* Expand the variables of a here-document; its quotes stay. All must be known. The caller
 * frees *text, also after an error. */
int dockerfile_expand_heredoc(const struct dockerfile *file,
                              const struct dockerfile_instruction *one,
                              const struct dockerfile_heredoc *heredoc,
                              const struct dockerfile_scope *scope, char **text,
                              struct error **err);

/* ${VALUE#PATTERN}, ${VALUE%PATTERN} or ${VALUE/PATTERN/TEXT}. In patterns, "?" and "*" stand for
 * characters, and a backslash escapes. */
struct dockerfile_pattern_use {
    char sign;
    bool is_whole; /* the sign is doubled: the longest match, or all matches */
    const char *value, *pattern, *text;
};
/* Return the result; the caller frees it. NULL: the pattern or the value is too long. The length of
 * the texts that were compared is added to *expanded, several times for a long pattern. Above
 * DOCKERFILE_EXPANDED_MAX the result has no meaning. */
char *dockerfile_pattern_apply(const struct dockerfile_pattern_use *use, size_t *expanded);

/* Return the open form of a closed text; the caller frees it. */
char *dockerfile_value_open(const char *text);
