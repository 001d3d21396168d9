/* SPDX-License-Identifier: GPL-2.0-or-later */
#include "http/schema.h"

#include <inttypes.h>
#include <math.h>
#include <stdlib.h>
#include <string.h>

#include "base/buffer.h"
#include "base/json_read.h"
#include "base/mem.h"
#include "base/str.h"
#include "http/kept_number.h"

#define MEMBERS_MAX     64 /* of one schema; for the nearest name */
#define POINTER_MAX     1024
#define CHOICE_TEXT_MAX 512
#define NAME_SHOWN_MAX  64                 /* bytes of an unknown name that an error repeats */
#define EXACT_MAX       9007199254740992.0 /* 2^53: larger doubles have no fraction */

static int check_value(const struct schema_member *rule, const json_t *value, const char *pointer,
                       struct error **err);

/* jansson's own texts repeat a piece of the body, which may be a secret. */
static const char *parse_problem(const json_error_t *problem)
{
    switch (json_error_code(problem)) {
    case json_error_invalid_utf8:
        return "the text is not UTF-8";
    case json_error_premature_end_of_input:
        return "the text ends before the document does";
    case json_error_end_of_input_expected:
        return "there is text after the end of the document";
    case json_error_duplicate_key:
        return "an object has the same member twice";
    case json_error_null_byte_in_key:
    case json_error_null_character:
    case json_error_null_value:
        return "the text has a NUL character, which is not allowed";
    default:
        return "the text is not JSON";
    }
}

/* Parse a document. Integers of more than 64 bits become doubles, and a number that is too large
 * for a double becomes a huge one. */
static json_t *load(const char *text, size_t size, json_error_t *problem)
{
    size_t flags = JSON_REJECT_DUPLICATES | JSON_ALLOW_NUL | JSON_DECODE_ANY;
    json_t *json = json_read(text, size, flags, problem);
    if (json || json_error_code(problem) != json_error_numeric_overflow)
        return json;
    char *copy = xmalloc(size + 1);
    memcpy(copy, text, size);
    copy[size] = '\0';
    numbers_clamp(copy, size);
    json = json_read(copy, size, flags | JSON_DECODE_INT_AS_REAL, problem);
    mem_wipe(copy, size);
    free(copy);
    return json;
}

static bool is_huge(const json_t *value)
{
    return json_is_real(value) && fabs(json_real_value(value)) > EXACT_MAX;
}

/* JSON has one type of number: 60, 60.0 and 6e1 are equal. Return the number as an integer, or
 * NULL: it has a fraction, is huge, or is an integer already. */
static json_t *as_integer(const json_t *value)
{
    double number = json_real_value(value);
    return json_is_real(value) && !is_huge(value) && number == (double)(json_int_t)number
               ? json_integer((json_int_t)number)
               : NULL;
}

static void read_integers(json_t *json)
{
    for (void *at = json_object_iter(json); at; at = json_object_iter_next(json, at)) {
        json_t *value = json_object_iter_value(at), *integer = as_integer(value);
        if (integer)
            json_object_iter_set_new(json, at, integer);
        else
            read_integers(value);
    }
    for (size_t i = 0; i < json_array_size(json); i++) {
        json_t *value = json_array_get(json, i), *integer = as_integer(value);
        if (integer)
            json_array_set_new(json, i, integer);
        else
            read_integers(value);
    }
}

static bool is_empty_array(const json_t *value)
{
    return json_is_array(value) && !json_array_size(value);
}

/* Parse the document, and keep the numbers of the member. Return NULL when the member has no
 * numbers and when the text is not JSON. */
static json_t *load_kept(const char *member, const char *text, size_t size)
{
    json_error_t ignored;
    struct buffer kept = BUFFER_INIT(10 * size + 1);
    json_t *json = kept_numbers(text, size, member, &kept)
                       ? load(buffer_string(&kept), kept.size, &ignored)
                       : NULL;
    buffer_wipe(&kept);
    return json;
}

int schema_parse(const struct schema_member *members, const char *text, size_t size, json_t **json,
                 struct error **err)
{
    json_error_t problem;
    enum json_size fits = json_size_of(text, size);
    if (fits == JSON_TOO_DEEP)
        return error_set(err, ERR_INVALID_JSON, "the document has more than %d levels of nesting",
                         JSON_DEPTH_MAX);
    if (fits == JSON_TOO_MANY_VALUES)
        return error_set(err, ERR_INVALID_JSON, "the document has more than %d values",
                         JSON_VALUES_MAX);
    *json = NULL;
    for (; members && members->name && !*json; members++)
        if (members->keeps_numbers)
            *json = load_kept(members->name, text, size);
    if (!*json)
        *json = load(text, size, &problem);
    if (!*json)
        return error_set(err, ERR_INVALID_JSON, "invalid JSON at line %d, column %d: %s",
                         problem.line, problem.column, parse_problem(&problem));
    read_integers(*json);
    if (is_empty_array(*json)) {
        json_decref(*json);
        *json = json_object();
    }
    return 0;
}

char *schema_pointer(const char *pointer, const char *token)
{
    buffer_auto out = BUFFER_INIT(POINTER_MAX);
    buffer_append_string(&out, pointer);
    buffer_append_char(&out, '/');
    for (const char *c = token; *c; c++) {
        if (*c == '~')
            buffer_append_string(&out, "~0");
        else if (*c == '/')
            buffer_append_string(&out, "~1");
        else
            buffer_append_char(&out, *c);
    }
    return buffer_steal(&out);
}

static char *index_pointer(const char *pointer, size_t index)
{
    char token[24];
    snprintf(token, sizeof token, "%zu", index);
    return schema_pointer(pointer, token);
}

/* How an error names the place: the pointer, or "the body" for the whole document. */
static const char *place(const char *pointer)
{
    return *pointer ? pointer : "the body";
}

static int wrong_type(const char *pointer, const char *expected, struct error **err)
{
    return error_set_field(err, ERR_INVALID_REQUEST, pointer, "%s must be %s", place(pointer),
                           expected);
}

static bool is_bounded(const struct schema_member *rule)
{
    return rule->min || rule->max;
}

static int check_count(const struct schema_member *rule, size_t count, const char *unit,
                       const char *pointer, struct error **err)
{
    if (!is_bounded(rule))
        return 0;
    if ((int64_t)count < rule->min)
        return error_set_field(err, ERR_INVALID_REQUEST, pointer,
                               "%s must have at least %" PRId64 " %s", place(pointer), rule->min,
                               unit);
    if ((int64_t)count > rule->max)
        return error_set_field(err, ERR_INVALID_REQUEST, pointer,
                               "%s must have at most %" PRId64 " %s", place(pointer), rule->max,
                               unit);
    return 0;
}

static int check_choice(const struct schema_member *rule, const char *text, const char *pointer,
                        struct error **err)
{
    buffer_auto list = BUFFER_INIT(CHOICE_TEXT_MAX);
    for (const char *const *choice = rule->choices; *choice; choice++) {
        if (!strcmp(text, *choice))
            return 0;
        buffer_printf(&list, "%s\"%s\"", choice == rule->choices ? "" : ", ", *choice);
    }
    return error_set_field(err, ERR_INVALID_REQUEST, pointer, "%s must be one of %s",
                           place(pointer), buffer_string(&list));
}

static int check_text(const json_t *value, const char *pointer, struct error **err)
{
    if (strlen(json_string_value(value)) == json_string_length(value))
        return 0;
    return error_set_field(err, ERR_INVALID_REQUEST, pointer, "%s must not have a NUL character",
                           place(pointer));
}

static int check_string(const struct schema_member *rule, const json_t *value, const char *pointer,
                        struct error **err)
{
    if (!json_is_string(value))
        return wrong_type(pointer, "a string", err);
    const char *text = json_string_value(value);
    if (check_text(value, pointer, err) < 0 ||
        check_count(rule, rule->characters ? str_characters(text) : strlen(text),
                    rule->characters ? "characters" : "bytes", pointer, err) < 0)
        return -1;
    return rule->choices ? check_choice(rule, text, pointer, err) : 0;
}

static int check_integer(const struct schema_member *rule, const json_t *value, const char *pointer,
                         struct error **err)
{
    if (!json_is_integer(value) && !is_huge(value))
        return wrong_type(pointer, "an integer", err);
    if (is_huge(value) && !is_bounded(rule))
        return error_set_field(err, ERR_INVALID_REQUEST, pointer, "%s is out of range",
                               place(pointer));
    json_int_t number = json_integer_value(value);
    if (is_bounded(rule) && (is_huge(value) || number < rule->min || number > rule->max))
        return error_set_field(err, ERR_INVALID_REQUEST, pointer,
                               "%s must be from %" PRId64 " to %" PRId64, place(pointer), rule->min,
                               rule->max);
    return 0;
}

static const struct schema_member *find_row(const struct schema_member *members, const char *name)
{
    for (; members->name; members++)
        if (!strcmp(members->name, name))
            return members;
    return NULL;
}

/* Candidates for an unknown name: the rows of the same object, then the rows of its inner
 * objects. */
struct candidates {
    const char *names[MEMBERS_MAX];
    const struct schema_member *rows[MEMBERS_MAX];
    const struct schema_member *objects[MEMBERS_MAX]; /* that the row is in; NULL: here */
    size_t count;
};

static void add_candidates(struct candidates *candidates, const struct schema_member *members,
                           const struct schema_member *object)
{
    for (; members->name && candidates->count < MEMBERS_MAX; members++) {
        if (object && members->hint)
            continue;
        candidates->names[candidates->count] = members->name;
        candidates->rows[candidates->count] = members;
        candidates->objects[candidates->count++] = object;
    }
}

/* The row that a name means, and the object that it is in, or NULL for here. Of equally near names
 * the first is meant. */
static const struct schema_member *find_meant(const struct schema_member *members, const char *name,
                                              const struct schema_member **object)
{
    struct candidates candidates = {.count = 0};
    add_candidates(&candidates, members, NULL);
    for (const struct schema_member *row = members; row->name; row++)
        if (row->type == SCHEMA_OBJECT && row->members)
            add_candidates(&candidates, row->members, row);
    const char *nearest = str_nearest(name, candidates.names, candidates.count);
    for (size_t i = 0; nearest && i < candidates.count; i++) {
        if (candidates.names[i] != nearest)
            continue;
        *object = candidates.objects[i];
        return candidates.rows[i];
    }
    return NULL;
}

static int unknown_member(const struct schema_member *members, const char *name,
                          const char *pointer, struct error **err)
{
    const struct schema_member *object, *meant = find_meant(members, name, &object);
    if (!meant)
        return error_set_field(err, ERR_INVALID_REQUEST, pointer, "unknown member \"%.*s\"",
                               NAME_SHOWN_MAX, name);
    if (meant->hint)
        return error_set_field(err, ERR_INVALID_REQUEST, pointer, "unknown member \"%s\": %s", name,
                               meant->hint);
    return error_set_field(err, ERR_INVALID_REQUEST, pointer,
                           "unknown member \"%s\"; did you mean \"%s%s%s\"?", name,
                           object ? object->name : "", object ? "." : "", meant->name);
}

static int check_object(const struct schema_member *members, const json_t *object,
                        const char *pointer, struct error **err)
{
    const char *name;
    json_t *value;
    if (!json_is_object(object))
        return wrong_type(pointer, "a JSON object", err);
    json_object_foreach ((json_t *)object, name, value) {
        autofree char *at = schema_pointer(pointer, name);
        const struct schema_member *rule = find_row(members, name);
        if (!rule || rule->hint)
            return unknown_member(members, name, at, err);
        if (check_value(rule, value, at, err) < 0)
            return -1;
    }
    for (; members->name; members++) {
        if (!members->required || json_object_get(object, members->name))
            continue;
        autofree char *at = schema_pointer(pointer, members->name);
        return error_set_field(err, ERR_INVALID_REQUEST, at, "%s is required", at);
    }
    return 0;
}

static int check_array(const struct schema_member *rule, const json_t *value, const char *pointer,
                       struct error **err)
{
    if (rule->choices && json_is_string(value))
        return check_text(value, pointer, err) < 0
                   ? -1
                   : check_choice(rule, json_string_value(value), pointer, err);
    if (!json_is_array(value))
        return wrong_type(pointer, "an array", err);
    if (check_count(rule, json_array_size(value), "entries", pointer, err) < 0)
        return -1;
    for (size_t i = 0; rule->item && i < json_array_size(value); i++) {
        autofree char *at = index_pointer(pointer, i);
        if (check_value(rule->item, json_array_get(value, i), at, err) < 0)
            return -1;
    }
    return 0;
}

static int check_map(const struct schema_member *rule, const json_t *value, const char *pointer,
                     struct error **err)
{
    const char *name;
    json_t *entry;
    if (!json_is_object(value))
        return wrong_type(pointer, "an object", err);
    if (check_count(rule, json_object_size(value), "entries", pointer, err) < 0)
        return -1;
    if (!rule->item)
        return 0;
    json_object_foreach ((json_t *)value, name, entry) {
        autofree char *at = schema_pointer(pointer, name);
        if (check_value(rule->item, entry, at, err) < 0)
            return -1;
    }
    return 0;
}

static int check_type(const struct schema_member *rule, const json_t *value, const char *pointer,
                      struct error **err)
{
    switch (rule->type) {
    case SCHEMA_STRING:
        return check_string(rule, value, pointer, err);
    case SCHEMA_INTEGER:
        return check_integer(rule, value, pointer, err);
    case SCHEMA_BOOLEAN:
        return json_is_boolean(value) ? 0 : wrong_type(pointer, "true or false", err);
    case SCHEMA_OBJECT:
        return check_object(rule->members, value, pointer, err);
    case SCHEMA_ARRAY:
        return check_array(rule, value, pointer, err);
    case SCHEMA_MAP:
        return check_map(rule, value, pointer, err);
    case SCHEMA_ANY:
        break;
    }
    return 0;
}

static int check_value(const struct schema_member *rule, const json_t *value, const char *pointer,
                       struct error **err)
{
    if (json_is_null(value) && rule->nullable)
        return 0;
    if (check_type(rule, value, pointer, err) < 0)
        return -1;
    return rule->check ? rule->check(value, pointer, err) : 0;
}

int schema_validate(const struct schema_member *members, const json_t *object, struct error **err)
{
    return check_object(members, object, "", err);
}

/* --- removing unknown members --- */

static void drop_unknown(const struct schema_member *rule, json_t *value)
{
    const char *name;
    json_t *entry;
    size_t index;
    if (rule->type == SCHEMA_OBJECT)
        schema_drop_unknown(rule->members, value);
    if (rule->type == SCHEMA_MAP && rule->item)
        json_object_foreach (value, name, entry)
            drop_unknown(rule->item, entry);
    if (rule->type == SCHEMA_ARRAY && rule->item)
        json_array_foreach (value, index, entry)
            drop_unknown(rule->item, entry);
}

void schema_drop_unknown(const struct schema_member *members, json_t *object)
{
    const char *name;
    json_t *value;
    void *next;
    json_object_foreach_safe(object, next, name, value)
    {
        const struct schema_member *rule = find_row(members, name);
        if (rule && !rule->hint)
            drop_unknown(rule, value);
        else
            json_object_del(object, name);
    }
}

/* --- null --- */

static void drop_nulls(const struct schema_member *rule, json_t *value)
{
    const char *name;
    json_t *entry;
    size_t index;
    if (rule->type == SCHEMA_OBJECT)
        schema_drop_nulls(rule->members, value);
    if (rule->type == SCHEMA_MAP && rule->item)
        json_object_foreach (value, name, entry)
            drop_nulls(rule->item, entry);
    if (rule->type == SCHEMA_ARRAY && rule->item)
        json_array_foreach (value, index, entry)
            drop_nulls(rule->item, entry);
}

void schema_drop_nulls(const struct schema_member *members, json_t *object)
{
    for (; members->name; members++) {
        json_t *value = json_object_get(object, members->name);
        if (!json_is_null(value))
            drop_nulls(members, value);
        else if (!members->nullable && !members->hint)
            json_object_del(object, members->name);
    }
}

/* --- empty maps --- */

static void read_empty_maps(const struct schema_member *rule, json_t *value)
{
    const char *name;
    json_t *entry;
    size_t index;
    if (rule->type == SCHEMA_OBJECT)
        schema_read_empty_maps(rule->members, value);
    if (rule->type == SCHEMA_MAP && rule->item)
        json_object_foreach (value, name, entry)
            read_empty_maps(rule->item, entry);
    if (rule->type == SCHEMA_ARRAY && rule->item)
        json_array_foreach (value, index, entry)
            read_empty_maps(rule->item, entry);
}

void schema_read_empty_maps(const struct schema_member *members, json_t *object)
{
    for (; members->name; members++) {
        json_t *value = json_object_get(object, members->name);
        bool is_map = members->type == SCHEMA_MAP || members->type == SCHEMA_OBJECT;
        if (is_map && is_empty_array(value))
            json_object_set_new(object, members->name, json_object());
        else
            read_empty_maps(members, value);
    }
}
