/* SPDX-License-Identifier: GPL-2.0-or-later */
/* The database's server: how it is reached, and whether it has room. */
#include <inttypes.h>
#include <sys/statvfs.h>

#include "base/buffer.h"
#include "base/str.h"
#include "ctl/ctl_db.h"
#include "ctl/doctor.h"

#define TABLES_SHOWN 10
#define ROOM_SHARE   20 /* less than the twentieth part is nearly nothing */

static bool is_here(const char *server)
{
    return *server == '/' || str_starts_with(server, "127.") || str_equal(server, "localhost") ||
           str_equal(server, "::1");
}

/* Data in clear on a network: sandboxes' secrets are sealed, other data is not. */
void doctor_report_encryption(struct doctor *doctor, const char *server, const char *cipher)
{
    if (cipher && *doctor->ctl->settings->database_tls_ca_file)
        doctor_ok(doctor, "database", "The connection to %s is encrypted with %s.", server, cipher);
    else if (cipher)
        doctor_note(doctor, "database",
                    "The connection to %s is encrypted with %s, but nothing checks the server's "
                    "certificate: an attacker in the network can answer in its place. Set "
                    "database_tls_ca_file.",
                    server, cipher);
    else
        doctor_note(doctor, "database",
                    "The connection to %s is not encrypted. Set database_tls_ca_file to encrypt it "
                    "and to check the server's certificate.",
                    server);
}

/* A server does not show its file system to a user without the right to all files. For a server on
 * this machine, the check asks the kernel. A directory that does not exist here belongs to a server
 * behind a tunnel. */
static void check_room(struct doctor *doctor)
{
    char directory[1024];
    struct statvfs room;
    error_auto err = NULL;
    if (ctl_db_directory(doctor->ctl->db, directory, sizeof directory, &err) < 0)
        doctor_wrong(doctor, "database", "See the line about the database.", "%s.", err->message);
    if (err || statvfs(directory, &room) < 0 || !room.f_blocks)
        return;
    uint64_t free_mb = (uint64_t)room.f_bavail * room.f_frsize >> 20;
    if (room.f_bavail < room.f_blocks / ROOM_SHARE)
        doctor_wrong(doctor, "database",
                     "Free or add space on the file system. When it is full, the database refuses "
                     "every change.",
                     "The file system of %s has %" PRIu64 " MiB left.", directory, free_mb);
    else
        doctor_ok(doctor, "database", "The file system of %s has %" PRIu64 " MiB left.", directory,
                  free_mb);
}

/* A table that grows without end shows here long before the file system is full. */
static void show_tables(struct doctor *doctor)
{
    error_auto err = NULL;
    buffer_auto text = BUFFER_INIT(4096);
    if (ctl_db_tables(doctor->ctl->db, TABLES_SHOWN, &text, &err) == 0)
        doctor_ok(doctor, "database", "The largest tables: %s.", buffer_string(&text));
}

void doctor_check_database_server(struct doctor *doctor)
{
    const char *server = db_server(doctor->ctl->db);
    show_tables(doctor);
    if (is_here(server))
        check_room(doctor);
    else
        doctor_report_encryption(doctor, server, db_cipher(doctor->ctl->db));
}
