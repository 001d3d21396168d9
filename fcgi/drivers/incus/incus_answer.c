/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "incus/incus_answer.h"

#include <string.h>

#include "base/buffer.h"
#include "base/cleanup.h"
#include "base/mem.h"
#include "base/str.h"

/* A failed restore comes with the whole log of CRIU; the first lines name the cause. */
#define REFUSAL_TEXT_MAX 600

/* Prefixes of the messages of fcgi/host/helper/launcher. */
#define MOUNT_POINT_WORDS "incusd-exec: mount point "

const char *incus_string(const json_t *object, const char *key)
{
    const char *value = json_string_value(json_object_get(object, key));
    return value ? value : "";
}

static int integer_of(json_t *object, const char *key)
{
    json_int_t value = json_integer_value(json_object_get(object, key));
    return value >= 0 && value < 10000 ? (int)value : 0;
}

/* "/1.0/operations/<uuid>", perhaps with a query behind it. */
static int uuid_of(const char *operation, char uuid[INCUS_UUID_SIZE])
{
    const char *start = strrchr(operation, '/');
    if (!start || !str_starts_with(operation, "/1.0/operations/"))
        return -1;
    size_t length = strspn(++start, "0123456789abcdef-");
    if (length != INCUS_UUID_SIZE - 1 || (start[length] != '\0' && start[length] != '?'))
        return -1;
    memcpy(uuid, start, length);
    uuid[length] = '\0';
    return 0;
}

int incus_answer_read(json_t *document, struct incus_answer *answer)
{
    const char *type = incus_string(document, "type");
    memset(answer, 0, sizeof *answer);
    answer->metadata = json_object_get(document, "metadata");
    if (str_equal(type, "sync")) {
        answer->type = INCUS_ANSWER_SYNC;
        return 0;
    }
    if (str_equal(type, "async")) {
        answer->type = INCUS_ANSWER_ASYNC;
        return uuid_of(incus_string(document, "operation"), answer->operation);
    }
    if (str_equal(type, "error")) {
        answer->type = INCUS_ANSWER_ERROR;
        answer->code = integer_of(document, "error_code");
        answer->error = incus_string(document, "error");
        return 0;
    }
    return -1;
}

int incus_operation_read(json_t *metadata, enum incus_operation_state *state, int *code,
                         const char **error)
{
    int status = integer_of(metadata, "status_code");
    *code = 0;
    *error = "";
    /* 100 to 199 are states on the way (created, running, cancelling, pending), 200 is success,
     * 400 failure, 401 cancelled. */
    if (status >= 100 && status < 200) {
        *state = INCUS_OPERATION_RUNNING;
        return 0;
    }
    if (status == 200) {
        *state = INCUS_OPERATION_DONE;
        return 0;
    }
    if (status < 400)
        return -1;
    *state = INCUS_OPERATION_FAILED;
    *code = status;
    *error = incus_string(metadata, "err");
    if (**error == '\0')
        *error = status == 401 ? "the operation was cancelled" : "the operation failed";
    return 0;
}

enum incus_error incus_error_of(int code, const char *text)
{
    static const struct {
        const char *words;
        enum incus_error kind;
    } kinds[] = {
        /* First, as these come in the text of a helper that failed. */
        {MOUNT_POINT_WORDS, INCUS_ERROR_MOUNT_POINT},
        {"incusd-exec: no end after ", INCUS_ERROR_STUCK},
        {"o space left on device", INCUS_ERROR_NO_SPACE},
        {"isk quota exceeded", INCUS_ERROR_NO_SPACE},
        {"torage pool is unavailable", INCUS_ERROR_POOL_CLOSED},
        {"nstance is busy running a", INCUS_ERROR_BUSY},
        /* The refusal of a change while one of its snapshots is being deleted. */
        {"nstance snapshot record count doesn't match", INCUS_ERROR_BUSY},
        /* Its init has ended, and Incus has not finished the stop yet. */
        {"Invalid PID", INCUS_ERROR_BUSY},
        {"is already stopped", INCUS_ERROR_STOPPED},
        {"nstance is not running", INCUS_ERROR_STOPPED},
        {"ontainer is not running", INCUS_ERROR_STOPPED},
        {"is already running", INCUS_ERROR_RUNNING},
        {"nstance is running", INCUS_ERROR_RUNNING},
        {"UNIQUE constraint failed", INCUS_ERROR_EXISTS},
        /* Not "File exists", which is an interface or a route in the way. */
        {"already exists", INCUS_ERROR_EXISTS},
        {"still in use", INCUS_ERROR_IN_USE},
        {"nstance not found", INCUS_ERROR_NOT_FOUND},
        {" forkstart ", INCUS_ERROR_START},
        {"context canceled", INCUS_ERROR_INTERRUPTED},
        {"database is closed", INCUS_ERROR_INTERRUPTED},
    };

    for (size_t i = 0; i < ARRAY_SIZE(kinds); i++) {
        if (strstr(text, kinds[i].words))
            return kinds[i].kind;
    }
    if (code == 404)
        return INCUS_ERROR_NOT_FOUND;
    if (code == 503)
        return INCUS_ERROR_UNAVAILABLE;
    return INCUS_ERROR_OTHER;
}

/* The meaning of a start's error for the caller. */
static const enum error_code codes[] = {
    [INCUS_ERROR_NOT_FOUND] = ERR_NOT_FOUND,
    [INCUS_ERROR_START] = ERR_RUNTIME_FAILED,
    [INCUS_ERROR_STUCK] = ERR_RUNTIME_STUCK,
    [INCUS_ERROR_UNAVAILABLE] = ERR_RUNTIME_UNAVAILABLE,
    [INCUS_ERROR_INTERRUPTED] = ERR_OUTCOME_UNKNOWN,
    [INCUS_ERROR_OTHER] = ERR_RUNTIME_REFUSED,
};

/* "…incusd-exec: mount point /data: it is a file)": the place is the field of the error. */
static int bad_mount_point(struct error **err, const char *text)
{
    const char *place = strstr(text, MOUNT_POINT_WORDS) + strlen(MOUNT_POINT_WORDS);
    const char *reason = strstr(place, ": ");
    size_t length = strcspn(place, "\n");
    if (!reason || reason > place + length)
        reason = place + length;
    autofree char *path = xstrndup(place, (size_t)(reason - place));
    autofree char *line = xstrndup(place, length - (length && place[length - 1] == ')'));
    return error_set_field(err, ERR_MOUNT_POINT, path, "Incus cannot mount on %s", line);
}

int incus_error_set(struct error **err, enum incus_error kind, const char *text)
{
    buffer_auto line = BUFFER_INIT(REFUSAL_TEXT_MAX);
    enum error_code code = codes[kind] ? codes[kind] : ERR_RUNTIME_REFUSED;
    if (kind == INCUS_ERROR_MOUNT_POINT)
        return bad_mount_point(err, text);
    for (const char *c = text; *c && line.size < REFUSAL_TEXT_MAX; c++)
        buffer_append_char(&line, (unsigned char)*c < ' ' ? ' ' : *c);
    /* A cut in the middle of a character is not UTF-8 any more. */
    while (line.size && !str_is_utf8(line.data, line.size))
        line.data[--line.size] = '\0';
    return error_set(err, code, "Incus: %s",
                     line.size ? line.data : "it refused and gave no reason");
}
