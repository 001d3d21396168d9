/* SPDX-License-Identifier: GPL-2.0-or-later */
#include <string.h>

#include "base/clock.h"
#include "base/json_read.h"
#include "base/mem.h"
#include "base/str.h"
#include "ssh/session/session.h"

#define WAIT_S      150 /* for a create from the disk, or a resume */
#define END_WAIT_S  60
#define SESSION_MS  30000 /* less than any data-plane session lasts */
#define ANSWER_MAX  (1024 * 1024)
#define EXIT_ABSENT 3 /* the exit code of `sandlot` when an object does not exist */

/* Turn the program's error output into an error for the user. */
static int complain(struct buffer *complaint, struct error **err)
{
    const char *text = buffer_string(complaint);
    const char *colon = strstr(text, ": ");
    if (str_starts_with(text, "sandlot") && colon)
        text = colon + 2;
    return error_set(err, ERR_INTERNAL, "%.*s", (int)strcspn(text, "\r\n"),
                     *text ? text : "sandlot does not answer; try again later.");
}

/* Run the program and read its JSON output. A failure of the program sets *exit_code. */
static int run(struct session *session, struct child_call *call, json_t **answer, int *exit_code,
               struct error **err)
{
    struct buffer output = BUFFER_INIT(ANSWER_MAX);
    buffer_auto complaint = BUFFER_INIT(4096);
    int result = child_run(&session->setting, call, WAIT_S, &output, &complaint, exit_code, err);
    if (result == 0 && *exit_code != 0)
        result = complain(&complaint, err);
    if (result == 0) {
        *answer = json_read(output.data, output.size, 0, NULL);
        if (!json_is_object(*answer))
            result = error_set(err, ERR_INTERNAL, "sandlot sent an answer that is not JSON.");
    }
    buffer_wipe(&output);
    return result;
}

static int show(struct session *session, json_t **answer, int *exit_code, struct error **err)
{
    struct child_call call = {.words = {"show", "--json", "--", session->target.name}, .count = 4};
    return run(session, &call, answer, exit_code, err);
}

static void add_option(struct child_call *call, const char *option, const char *value)
{
    if (!value)
        return;
    child_word(call, option);
    child_word(call, value);
}

static int make(struct session *session, json_t **answer, int *exit_code, struct error **err)
{
    const struct target *target = &session->target;
    autofree char *keep = xasprintf("%us", session->keep_s);
    struct child_call call = {.words = {"create", "--json"}, .count = 2};
    add_option(&call, "--timeout", target->timeout ? target->timeout : keep);
    add_option(&call, "--cpu", target->cpu);
    add_option(&call, "--memory", target->memory);
    add_option(&call, "--name", target->label_name);
    add_option(&call, "--team", target->team);
    for (unsigned i = 0; i < target->label_count; i++)
        add_option(&call, "--label", target->labels[i]);
    if (target->keep) {
        add_option(&call, "--on-timeout", "pause");
        child_word(&call, "--auto-resume");
    }
    if (target->name) {
        child_word(&call, "--");
        child_word(&call, target->name);
    }
    return run(session, &call, answer, exit_code, err);
}

static int register_entry(struct session *session, const json_t *document, struct error **err)
{
    json_auto_t *answer = NULL;
    const char *id = json_string_value(json_object_get(document, "id"));
    const char *team = json_string_value(json_object_get(document, "team"));
    json_t *question = json_pack("{s:s, s:s, s:s}", "ask", "enter", "sandbox", id ? id : "", "team",
                                 team ? team : "");
    if (ask(session, question, &answer, err) < 0)
        return -1;
    const char *refused = json_string_value(json_object_get(answer, "refused"));
    if (refused)
        return error_set(err, ERR_RATE_LIMITED, "%s", refused);
    snprintf(session->sandbox.id, sizeof session->sandbox.id, "%s", id);
    return 0;
}

static void announce(struct session *session, const json_t *document)
{
    struct buffer *notice = &session->notice;
    const struct sandbox *sandbox = &session->sandbox;
    const char *name = json_string_value(json_object_get(document, "name"));
    const char *called = name ? name : sandbox->id;
    const char *template = json_string_value(json_object_get(document, "template"));
    const char *url = json_string_value(json_object_get(document, "data_plane_url"));
    if (!sandbox->is_made)
        return;
    buffer_printf(notice, "Sandbox %s (%s%s%s), %s\n", called, name ? sandbox->id : "",
                  name ? ", " : "", template ? template : "checkpoint", url ? url : "");
    if (sandbox->is_kept)
        buffer_printf(notice,
                      "It stays when you leave, and pauses %s later; `ssh %s@…` enters it again.\n",
                      session->target.timeout ? session->target.timeout : "some minutes", called);
    else
        buffer_printf(notice,
                      "It is deleted when you leave; `ssh new+keep@…` creates one that stays.\n");
    buffer_printf(notice, "If the connection breaks, `ssh %s+attach@…` enters a terminal again.\n",
                  called);
}

static int find_or_make(struct session *session, json_t **document, struct error **err)
{
    const struct target *target = &session->target;
    int exit_code = 0;
    if (target->may_exist && show(session, document, &exit_code, err) == 0)
        return 0;
    if (target->may_exist && (target->must_exist || exit_code != EXIT_ABSENT))
        return -1;
    error_clear(err);
    exit_code = 0;
    if (make(session, document, &exit_code, err) < 0) {
        if (target->may_exist && exit_code == EXIT_ABSENT) {
            error_clear(err);
            error_set(err, ERR_NOT_FOUND, "There is no sandbox or template with the name %s.",
                      target->name);
        }
        return -1;
    }
    session->sandbox.is_made = true;
    session->sandbox.is_kept = target->keep;
    return 0;
}

/* Keep the data-plane session of a new sandbox, so that the next calls need not ask for one. */
static void keep_session(struct session *session, const json_t *document)
{
    const json_t *found = json_object_get(document, "session");
    struct child_setting *setting = &session->setting;
    setting->session_url =
        xstrdup_or_null(json_string_value(json_object_get(found, "data_plane_url")));
    setting->session_token =
        xstrdup_or_null(json_string_value(json_object_get(found, "access_token")));
    setting->session_until_ms = clock_monotonic_ms() + SESSION_MS;
}

static void set_deadline(struct session *session)
{
    session->sandbox.extend_at_ms =
        clock_monotonic_ms() + (int64_t)session->sandbox.keep_s * 1000 / 3;
}

static void remove_made(struct session *session, const char *id)
{
    buffer_auto output = BUFFER_INIT(4096);
    buffer_auto complaint = BUFFER_INIT(4096);
    error_auto ignored = NULL;
    struct child_call call = {.words = {"rm", "--", id}, .count = 3};
    int exit_code;
    child_run(&session->setting, &call, END_WAIT_S, &output, &complaint, &exit_code, &ignored);
}

/* Return how long the sandbox lives without this connection, or 0 when its own time-out decides.
 * The connection that attaches to the terminal extends a sandbox that another connection made. */
static unsigned keep_s_of(const struct session *session, const json_t *document)
{
    json_int_t timeout_s = json_integer_value(json_object_get(document, "timeout"));
    bool is_tended = session->sandbox.is_made
                         ? !session->target.timeout
                         : session->target.attach && timeout_s == (json_int_t)session->keep_s;
    return is_tended ? session->keep_s : 0;
}

/* Return whether no other connection is in the sandbox. */
static bool is_alone(struct session *session)
{
    json_auto_t *answer = NULL;
    error_auto ignored = NULL;
    return ask(session, json_pack("{s:s}", "ask", "leave"), &answer, &ignored) == 0 &&
           json_is_true(json_object_get(answer, "alone"));
}

int sandbox_enter(struct session *session, struct error **err)
{
    json_auto_t *document = NULL;
    if (*session->sandbox.id)
        return 0;
    if (session->target_error)
        return error_set(err, ERR_INVALID_REQUEST, "%s", session->target_error->message);
    if (find_or_make(session, &document, err) < 0)
        return -1;
    if (register_entry(session, document, err) < 0) {
        if (session->sandbox.is_made)
            remove_made(session, json_string_value(json_object_get(document, "id")));
        session->sandbox.is_made = false;
        return -1;
    }
    session->sandbox.keep_s = keep_s_of(session, document);
    set_deadline(session);
    keep_session(session, document);
    announce(session, document);
    return 0;
}

/* The result is not read: the next call comes before the deadline. */
void sandbox_tend(struct session *session)
{
    struct sandbox *sandbox = &session->sandbox;
    error_auto ignored = NULL;
    struct child child;
    if (!*sandbox->id || !sandbox->keep_s || clock_monotonic_ms() < sandbox->extend_at_ms)
        return;
    autofree char *span = xasprintf("%us", sandbox->keep_s);
    const struct child_call call = {.words = {"extend", sandbox->id, span}, .count = 3};
    set_deadline(session);
    if (child_start(&session->setting, &call, &child, &ignored) == 0)
        child_close(&child);
}

void sandbox_leave(struct session *session, bool was_cut)
{
    const struct sandbox *sandbox = &session->sandbox;
    if (sandbox->is_made && !sandbox->is_kept && !was_cut && is_alone(session))
        remove_made(session, sandbox->id);
}
