/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The standard output of verbs: the JSON of the API with --json, else tables and lines. */
#pragma once

#include <jansson.h>

#include "base/buffer.h"
#include "cli/cli.h"

/* A terminal that is too narrow hides the last columns. */
struct output_column {
    const char *title;
    const char *key; /* member of each row; "a.b": member b of member a */
};

/* Print a JSON text as a line; to a terminal in ASCII. */
void output_json_line(const json_t *value);

/* Print {"<name>": rows} or a table; rows are taken over. */
void output_rows(const struct cli *cli, const char *name, json_t *rows,
                 const struct output_column *columns, size_t count);

/* List all pages of path, and print the rows of its member as output_rows(). */
int output_list(struct cli *cli, const char *path, const char *member, const char *name,
                const struct output_column *columns, size_t count, struct error **err);
/* Print the rows in a member of the answer at path, or at a path of the verb's sandbox. */
int output_answer(struct cli *cli, const char *path, const char *name,
                  const struct output_column *columns, size_t count, struct error **err);
int output_of_sandbox(struct cli_call *call, const char *what, const char *name,
                      const struct output_column *columns, size_t count, struct error **err);

/* Print one object as JSON, or a line for each of its members; taken over. */
void output_object(const struct cli *cli, json_t *object);

/* Print one object as JSON, or only the member that a script needs. The reference is taken over. */
void output_result(const struct cli *cli, json_t *object, const char *member);

/* Write out what was printed. After a failure, ferror(stdout) is true. */
void output_flush(void);

/* Write out the rest at the end of the program, and print a failure of this or an earlier writing.
 * The reader of a pipe may have enough; everything else that is lost is an error. Returns the exit
 * code for the result of the verb. */
int output_end(int code);

/* Append a number of bytes with a unit: "118.5 MiB". */
void output_add_size(struct buffer *out, double bytes);

/* Print a line on standard error for a person: nothing with --json. */
void output_note(const struct cli *cli, const char *format, ...)
    __attribute__((format(printf, 2, 3)));
