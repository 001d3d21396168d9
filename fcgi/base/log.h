/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Structured logs: one line an event, as text (`time level program message key=value …`) or JSON.
 * Control characters are escaped. Never pass a secret. Log one event for each request or job, with
 * its ids, durations and outcome as fields.
 *
 *   log_info("sandbox created", LOG_STR("sandbox", id), LOG_INT("duration_ms", ms));
 */
#pragma once

#include <stddef.h>
#include <stdint.h>

enum log_level { LOG_LEVEL_DEBUG, LOG_LEVEL_INFO, LOG_LEVEL_WARNING, LOG_LEVEL_ERROR };
enum log_format { LOG_FORMAT_TEXT, LOG_FORMAT_JSON };

struct log_field {
    const char *key;    /* NULL: the field is left out */
    const char *string; /* NULL: the number counts */
    int64_t number;
};

/* A function, not ?: in the macro: value may be an array, whose address is never NULL. */
static inline const char *log_text_(const char *value)
{
    return value ? value : "";
}
#define LOG_STR(key_, value_) ((struct log_field){(key_), log_text_(value_), 0})
#define LOG_INT(key_, value_) ((struct log_field){(key_), NULL, (int64_t)(value_)})
/* The name that people gave an object; an object without a name has no such field. */
#define LOG_NAME(key_, value_) ((struct log_field){*(value_) ? (key_) : NULL, (value_), 0})

struct error;
/* Fields `error` (the symbol) and `reason` (the message) of an error. */
#define LOG_ERROR(err_) \
    LOG_STR("error", log_error_symbol_(err_)), LOG_STR("reason", log_error_message_(err_))

/* Start the log. program: name that every line carries; static storage. */
void log_init(const char *program);
void log_configure(enum log_level least, enum log_format format);

/* Append to this file instead of standard error; log_reopen() opens it again. Return 0, or -1 with
 * errno. */
int log_to_file(const char *path);
int log_reopen(void);

/* Set a field that every event carries until the fields are cleared: request id, operation. At most
 * 6; value is copied (cut at 63 bytes); NULL removes the field. key has static storage. */
void log_context_set(const char *key, const char *value);
void log_context_clear(void);

#define log_event(level, message, ...)                                                        \
    log_write((level), (message), (const struct log_field[]){{NULL, NULL, 0}, ##__VA_ARGS__}, \
              sizeof((const struct log_field[]){{NULL, NULL, 0}, ##__VA_ARGS__}) /            \
                  sizeof(struct log_field))
#define log_debug(message, ...)   log_event(LOG_LEVEL_DEBUG, message, ##__VA_ARGS__)
#define log_info(message, ...)    log_event(LOG_LEVEL_INFO, message, ##__VA_ARGS__)
#define log_warning(message, ...) log_event(LOG_LEVEL_WARNING, message, ##__VA_ARGS__)
#define log_error(message, ...)   log_event(LOG_LEVEL_ERROR, message, ##__VA_ARGS__)

/* Write an event to the log. fields[0] is a placeholder and is skipped. Use the macros. */
void log_write(enum log_level level, const char *message, const struct log_field *fields,
               size_t count);
const char *log_error_symbol_(const struct error *err);
const char *log_error_message_(const struct error *err);
