/* SPDX-License-Identifier: GPL-2.0-or-later */
/*
 * Send instances and volumes to another server. The data travel between the two servers: one waits
 * at its https address, and the other connects with one-time secrets and needs no other rights
 * there. The receiver pulls if it can reach the sender; else the sender pushes.
 */
#include "base/mem.h"
#include "incus/incus_internal.h"

/* As long as the largest disk takes. */
#define MIGRATION_MOST_S (6 * 3600)

/* An operation of the waiting server, or of the connecting one. */
struct end {
    struct incus *incus;
    json_t *document;
    struct incus_answer answer;
};

static bool is_reached(const struct incus *incus)
{
    return !incus->socket_path;
}

static int begin(struct end *end, const char *path, bool places, json_t *body, struct error **err)
{
    struct incus_request request = {
        .method = "POST",
        .path = path,
        .body = body,
        .places = places,
        .timeout_s = INCUS_REQUEST_TIMEOUT_S,
        .answer_max = INCUS_ANSWER_MAX,
    };
    if (incus_order_begin(end->incus, &request, &end->document, &end->answer, err) < 0)
        return -1;
    if (end->answer.type == INCUS_ANSWER_ASYNC)
        return 0;
    return error_set(err, ERR_OUTCOME_UNKNOWN,
                     "Incus at %s did not start an operation for the migration",
                     end->incus->options.url);
}

/* The address of the waiting server, and the secrets of the other one. */
static json_t *meeting(const struct end *waits)
{
    const char *certificate = waits->incus->options.server_cert;
    json_t *json =
        json_pack("{s:o, s:O?}", "operation",
                  json_sprintf("%s/1.0/operations/%s", waits->incus->base, waits->answer.operation),
                  "secrets", json_object_get(waits->answer.metadata, "metadata"));
    if (certificate)
        json_object_set_new(json, "certificate", json_string(certificate));
    return json;
}

/* The object to send, and the paths for sending and creating it. */
struct parcel {
    const char *send_path, *make_path;
    json_t *offer; /* the request to the sender */
};

static void set_source(json_t *body, const char *mode, json_t *where)
{
    json_t *source = where ? where : json_object();
    json_object_set_new(source, "type", json_string("migration"));
    json_object_set_new(source, "mode", json_string(mode));
    json_object_set_new(source, "live", json_false());
    json_object_set_new(source, "instance_only", json_true());
    json_object_set_new(source, "volume_only", json_true());
    json_object_set_new(body, "source", source);
}

static int pull(struct end *from, struct end *to, const struct parcel *parcel, json_t *body,
                struct error **err)
{
    if (begin(from, parcel->send_path, false, parcel->offer, err) < 0)
        return -1;
    set_source(body, "pull", meeting(from));
    return begin(to, parcel->make_path, true, body, err);
}

static int push(struct end *from, struct end *to, const struct parcel *parcel, json_t *body,
                struct error **err)
{
    set_source(body, "push", NULL);
    if (begin(to, parcel->make_path, true, body, err) < 0)
        return -1;
    json_object_set_new(parcel->offer, "target", meeting(to));
    if (begin(from, parcel->send_path, false, parcel->offer, err) < 0)
        return -1;
    /* This one of the two has the useful error. */
    return incus_operation_wait(from->incus, from->answer.operation, MIGRATION_MOST_S, err);
}

static int send_parcel(struct incus *from, struct incus *to, const struct parcel *parcel,
                       json_t *body, struct error **err)
{
    struct end sender = {.incus = from}, receiver = {.incus = to};
    if (!is_reached(from) && !is_reached(to))
        return error_set(err, ERR_RUNTIME_REFUSED,
                         "the Incus daemons at %s and %s cannot connect to each other: one of the "
                         "two must have an https:// address",
                         from->options.url, to->options.url);
    int result = is_reached(from) ? pull(&sender, &receiver, parcel, body, err)
                                  : push(&sender, &receiver, parcel, body, err);
    if (result == 0)
        result = incus_operation_wait(to, receiver.answer.operation, MIGRATION_MOST_S, err);
    json_decref(sender.document);
    json_decref(receiver.document);
    return result;
}

int incus_instance_send(struct incus *from, struct incus *to, const char *name, json_t *body,
                        struct error **err)
{
    autofree char *path = incus_path(from, "instances", name);
    json_auto_t *offer = json_pack("{s:s, s:b, s:b, s:b}", "name", name, "migration", 1, "live", 0,
                                   "instance_only", 1);
    const struct parcel parcel = {path, "/1.0/instances", offer};
    return send_parcel(from, to, &parcel, body, err);
}

/* Incus' own configuration of a volume goes along, except its identity: its files keep their
 * shifted ids. */
static json_t *volume_body(const char *name, const json_t *volume)
{
    json_auto_t *config = json_deep_copy(json_object_get(volume, "config"));
    json_object_del(config, "volatile.uuid");
    return json_pack("{s:s, s:s, s:s, s:O}", "name", name, "type", "custom", "content_type",
                     "filesystem", "config", config);
}

int incus_volume_send(const struct incus_volume_place *from, const struct incus_volume_place *to,
                      const char *name, struct error **err)
{
    autofree char *path = incus_volumes_path(from->incus, from->pool, name);
    autofree char *make_path = incus_volumes_path(to->incus, to->pool, NULL);
    json_auto_t *volume = NULL;
    if (incus_get(from->incus, path, &volume, err) < 0)
        return -1;
    json_auto_t *body = volume_body(name, volume);
    json_auto_t *offer =
        json_pack("{s:s, s:b, s:b}", "name", name, "migration", 1, "volume_only", 1);
    const struct parcel parcel = {path, make_path, offer};
    return send_parcel(from->incus, to->incus, &parcel, body, err);
}
