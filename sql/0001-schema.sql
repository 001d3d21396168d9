-- The schema. Times are milliseconds since 1970 UTC (…_at_ms). Identifiers are those of the API, with their prefix.
-- The statements are those that MariaDB 10.6 and MySQL 8.0 both accept. Programs may be older than the schema for the
-- seconds of an upgrade, so that a later file NNNN-name.sql only adds.

-- ===== Accounts =====

-- Plans and prices. The operator edits the rows (sandlotctl plan set).
-- stopped_days and checkpoint_days: days until an unused paused sandbox or a checkpoint is deleted; 0: never.
-- cleanup_warning_hours: hours between the warning (cleanup_at_ms of the record) and the deletion.
-- paused_memory_gb: GiB of memory images of paused sandboxes and checkpoints (memory_images).
-- audit_days: days that a team's audit rows are kept. process_log_kib: size of a sandbox's process log.
-- virtual_machines_only: no containers.
CREATE TABLE plans (
    name VARCHAR(32) COLLATE ascii_bin NOT NULL,
    position INT UNSIGNED NOT NULL,
    resource_override TINYINT UNSIGNED NOT NULL,
    cpu_default INT UNSIGNED NOT NULL,
    memory_mb_default INT UNSIGNED NOT NULL,
    cpu_values VARCHAR(255) COLLATE ascii_bin NOT NULL,
    memory_mb_min INT UNSIGNED NOT NULL,
    memory_mb_max INT UNSIGNED NOT NULL,
    memory_mb_increment INT UNSIGNED NOT NULL,
    disk_gb INT UNSIGNED NOT NULL,
    max_timeout_s INT UNSIGNED NOT NULL,
    sandboxes INT UNSIGNED NOT NULL,
    vcpus INT UNSIGNED NOT NULL,
    memory_mb INT UNSIGNED NOT NULL,
    stopped_sandboxes INT UNSIGNED NOT NULL,
    paused_memory_gb INT UNSIGNED NOT NULL,
    volumes INT UNSIGNED NOT NULL,
    volume_gb INT UNSIGNED NOT NULL,
    checkpoints INT UNSIGNED NOT NULL,
    currency CHAR(3) COLLATE ascii_bin NOT NULL,
    vcpu_hour VARCHAR(16) COLLATE ascii_bin NOT NULL,
    memory_gb_hour VARCHAR(16) COLLATE ascii_bin NOT NULL,
    storage_gb_month VARCHAR(16) COLLATE ascii_bin NOT NULL,
    stopped_days INT UNSIGNED NOT NULL DEFAULT 0,
    checkpoint_days INT UNSIGNED NOT NULL DEFAULT 0,
    cleanup_warning_hours INT UNSIGNED NOT NULL DEFAULT 168,
    audit_days INT UNSIGNED NOT NULL DEFAULT 90,
    process_log_kib INT UNSIGNED NOT NULL DEFAULT 1024,
    is_public TINYINT UNSIGNED NOT NULL DEFAULT 1,
    virtual_machines_only TINYINT UNSIGNED NOT NULL DEFAULT 0,
    PRIMARY KEY (name)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
INSERT INTO plans (name, position, resource_override, cpu_default, memory_mb_default, cpu_values, memory_mb_min,
    memory_mb_max, memory_mb_increment, disk_gb, max_timeout_s, sandboxes, vcpus, memory_mb, stopped_sandboxes,
    paused_memory_gb, volumes, volume_gb, checkpoints, currency, vcpu_hour, memory_gb_hour, storage_gb_month, stopped_days, checkpoint_days,
    cleanup_warning_hours, audit_days, process_log_kib) VALUES
    ('basic', 1, 0, 1, 512, '1,2', 256, 2048, 128, 10, 3600, 20, 40, 40960, 50, 80, 10, 5, 20, 'USD', '0.0504', '0.0162',
        '0.08', 30, 90, 72, 90, 1024),
    ('pro', 2, 1, 1, 512, '1,2,4,8', 256, 16384, 128, 20, 86400, 100, 200, 204800, 500, 400, 100, 20, 200, 'USD', '0.0504',
        '0.0162', '0.08', 90, 365, 168, 90, 1024),
    ('enterprise', 3, 1, 1, 512, '1,2,4,8,16', 256, 65536, 128, 40, 604800, 1000, 2000, 2097152, 5000, 4096, 1000, 100, 2000,
        'USD', '0.0504', '0.0162', '0.08', 365, 0, 168, 365, 4096);

-- Teams own everything. used_* and stopped_sandboxes count what the team has reserved, so that a create reserves
-- and checks in one statement. The transactions that change sandboxes change them too; the dispatcher and
-- `sandlotctl doctor` compare them with the sums. They are signed so that a wrong counter never stops a delete.
-- removed_at_ms: the team was removed; its usage rows stay and its slug is free again.
-- archive_turn_ms: when the archive last served this team; the archive serves teams in turn.
-- session_epoch: a new number ends all access tokens of the team's sandboxes.
CREATE TABLE teams (
    id CHAR(30) COLLATE ascii_bin NOT NULL,
    slug VARCHAR(63) COLLATE ascii_bin NOT NULL,
    plan VARCHAR(32) COLLATE ascii_bin NOT NULL,
    created_at_ms BIGINT NOT NULL,
    used_sandboxes BIGINT NOT NULL DEFAULT 0,
    used_vcpus BIGINT NOT NULL DEFAULT 0,
    used_memory_mb BIGINT NOT NULL DEFAULT 0,
    stopped_sandboxes BIGINT NOT NULL DEFAULT 0,
    removed_at_ms BIGINT NULL,
    archive_turn_ms BIGINT NOT NULL DEFAULT 0,
    session_epoch INT UNSIGNED NOT NULL DEFAULT 0,
    PRIMARY KEY (id),
    UNIQUE KEY teams_slug (slug),
    KEY teams_plan (plan),
    CONSTRAINT teams_plan FOREIGN KEY (plan) REFERENCES plans (name)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- The team of the deployment itself (TEAM_DEPLOYMENT_ID of account/account.h) owns the templates that every team sees.
-- Its id sorts before every other, so that a team's own template of the same slug is found first.
INSERT INTO teams (id, slug, plan, created_at_ms)
    VALUES ('tea_00000000000000000000000000', 'deployment', 'enterprise', UNIX_TIMESTAMP() * 1000);

-- Users. password_hash is the text that argon2id makes. credentials_epoch grows with each change of a password or
-- second factor, and ends sign-ins that were checked against an older one. totp_step is the last time step whose
-- code was accepted.
CREATE TABLE users (
    id CHAR(30) COLLATE ascii_bin NOT NULL,
    name VARCHAR(63) COLLATE ascii_bin NOT NULL,
    personal_team_id CHAR(30) COLLATE ascii_bin NOT NULL,
    created_at_ms BIGINT NOT NULL,
    disabled_at_ms BIGINT NULL,
    credentials_epoch INT UNSIGNED NOT NULL DEFAULT 0,
    password_hash VARCHAR(128) COLLATE ascii_bin NULL,
    totp_sealed VARBINARY(255) NULL,
    totp_on TINYINT UNSIGNED NOT NULL DEFAULT 0,
    totp_step BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (id),
    UNIQUE KEY users_name (name),
    KEY users_personal_team (personal_team_id),
    CONSTRAINT users_personal_team FOREIGN KEY (personal_team_id) REFERENCES teams (id)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Members of teams. from_groups 1: the membership follows the groups of the identity provider at each sign-in.
CREATE TABLE memberships (
    user_id CHAR(30) COLLATE ascii_bin NOT NULL,
    team_id CHAR(30) COLLATE ascii_bin NOT NULL,
    role VARCHAR(8) COLLATE ascii_bin NOT NULL,
    added_at_ms BIGINT NULL,
    from_groups TINYINT UNSIGNED NOT NULL DEFAULT 0,
    PRIMARY KEY (user_id, team_id),
    KEY memberships_team (team_id),
    CONSTRAINT memberships_team FOREIGN KEY (team_id) REFERENCES teams (id) ON DELETE CASCADE,
    CONSTRAINT memberships_user FOREIGN KEY (user_id) REFERENCES users (id) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Invitations into teams, until the user accepts or declines.
CREATE TABLE team_invitations (
    team_id CHAR(30) COLLATE ascii_bin NOT NULL,
    user_id CHAR(30) COLLATE ascii_bin NOT NULL,
    role VARCHAR(8) COLLATE ascii_bin NOT NULL,
    invited_by CHAR(30) COLLATE ascii_bin NOT NULL,
    expires_at_ms BIGINT NOT NULL,
    PRIMARY KEY (team_id, user_id),
    KEY team_invitations_user (user_id),
    CONSTRAINT team_invitations_team FOREIGN KEY (team_id) REFERENCES teams (id) ON DELETE CASCADE,
    CONSTRAINT team_invitations_user FOREIGN KEY (user_id) REFERENCES users (id) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Links into teams: the id is the public part of the link's token; its secret is stored as a keyed hash.
CREATE TABLE team_links (
    id CHAR(30) COLLATE ascii_bin NOT NULL,
    team_id CHAR(30) COLLATE ascii_bin NOT NULL,
    made_by CHAR(30) COLLATE ascii_bin NOT NULL,
    role VARCHAR(8) COLLATE ascii_bin NOT NULL,
    uses_left SMALLINT UNSIGNED NOT NULL,
    created_at_ms BIGINT NOT NULL,
    expires_at_ms BIGINT NOT NULL,
    hash_key_id SMALLINT UNSIGNED NOT NULL,
    hash BINARY(32) NOT NULL,
    PRIMARY KEY (id),
    KEY team_links_team (team_id),
    CONSTRAINT team_links_team FOREIGN KEY (team_id) REFERENCES teams (id) ON DELETE CASCADE,
    CONSTRAINT team_links_made_by FOREIGN KEY (made_by) REFERENCES users (id) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Sessions of the console. The id is the public part of the cookie; its secret is stored as a keyed hash.
CREATE TABLE logins (
    id CHAR(30) COLLATE ascii_bin NOT NULL,
    user_id CHAR(30) COLLATE ascii_bin NOT NULL,
    hash_key_id SMALLINT UNSIGNED NOT NULL,
    hash BINARY(32) NOT NULL,
    method VARCHAR(8) COLLATE ascii_bin NOT NULL,
    created_at_ms BIGINT NOT NULL,
    last_seen_at_ms BIGINT NOT NULL,
    idle_at_ms BIGINT NOT NULL,
    expires_at_ms BIGINT NOT NULL,
    address VARCHAR(45) COLLATE ascii_bin NOT NULL,
    user_agent VARCHAR(255) NOT NULL,
    PRIMARY KEY (id),
    KEY logins_user (user_id, id),
    KEY logins_idle (idle_at_ms),
    CONSTRAINT logins_user FOREIGN KEY (user_id) REFERENCES users (id) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- API keys and SSH keys. The secret is stored as a keyed hash; lookup is the public part of the key. An SSH key has
-- no secret: its fingerprint (SHA-256, base64 without padding) finds it while it is not revoked.
-- login_id: the sign-in that made the key without the password. The key ends with it; NULL: it does not.
CREATE TABLE api_keys (
    id CHAR(30) COLLATE ascii_bin NOT NULL,
    lookup CHAR(12) COLLATE ascii_bin NOT NULL,
    user_id CHAR(30) COLLATE ascii_bin NOT NULL,
    name VARCHAR(64) NOT NULL,
    can_write TINYINT UNSIGNED NOT NULL,
    all_teams TINYINT UNSIGNED NOT NULL,
    hash_key_id SMALLINT UNSIGNED NOT NULL,
    hash BINARY(32) NOT NULL,
    created_at_ms BIGINT NOT NULL,
    expires_at_ms BIGINT NULL,
    revoked_at_ms BIGINT NULL,
    last_used_at_ms BIGINT NULL,
    ssh_public_key VARCHAR(6000) COLLATE ascii_bin NULL,
    ssh_fingerprint CHAR(43) COLLATE ascii_bin NULL,
    login_id CHAR(30) COLLATE ascii_bin NULL,
    created_by CHAR(30) COLLATE ascii_bin NULL,
    PRIMARY KEY (id),
    UNIQUE KEY api_keys_lookup (lookup),
    UNIQUE KEY api_keys_ssh_fingerprint (ssh_fingerprint),
    KEY api_keys_user (user_id),
    KEY api_keys_login (login_id),
    KEY api_keys_created_by (created_by),
    CONSTRAINT api_keys_user FOREIGN KEY (user_id) REFERENCES users (id) ON DELETE CASCADE,
    CONSTRAINT api_keys_login FOREIGN KEY (login_id) REFERENCES logins (id) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Teams of a key: those that it names (all_teams = 0), or those whose owners excluded it (all_teams = 1).
CREATE TABLE api_key_teams (
    api_key_id CHAR(30) COLLATE ascii_bin NOT NULL,
    team_id CHAR(30) COLLATE ascii_bin NOT NULL,
    PRIMARY KEY (api_key_id, team_id),
    KEY api_key_teams_team (team_id),
    CONSTRAINT api_key_teams_key FOREIGN KEY (api_key_id) REFERENCES api_keys (id) ON DELETE CASCADE,
    CONSTRAINT api_key_teams_team FOREIGN KEY (team_id) REFERENCES teams (id) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- The teams in which a key was used, and when last.
CREATE TABLE api_key_uses (
    api_key_id CHAR(30) COLLATE ascii_bin NOT NULL,
    team_id CHAR(30) COLLATE ascii_bin NOT NULL,
    last_used_at_ms BIGINT NOT NULL,
    PRIMARY KEY (api_key_id, team_id),
    KEY api_key_uses_team (team_id),
    CONSTRAINT api_key_uses_key FOREIGN KEY (api_key_id) REFERENCES api_keys (id) ON DELETE CASCADE,
    CONSTRAINT api_key_uses_team FOREIGN KEY (team_id) REFERENCES teams (id) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- One row: counts the changes of keys, users, members and teams. A worker's cached copy is valid while the number
-- stays the same, or while no later row of access_changes names its user.
CREATE TABLE access_revision (
    id TINYINT UNSIGNED NOT NULL,
    revision BIGINT UNSIGNED NOT NULL,
    PRIMARY KEY (id)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
INSERT INTO access_revision (id, revision) VALUES (1, 1);

-- The latest changes of access rights: the revision and the user whose rights changed; '': the rights of all. The next
-- change of the same slot replaces a row.
CREATE TABLE access_changes (
    slot SMALLINT UNSIGNED NOT NULL,
    revision BIGINT UNSIGNED NOT NULL,
    user_id VARCHAR(30) COLLATE ascii_bin NOT NULL,
    PRIMARY KEY (slot),
    KEY access_changes_revision (revision)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- ===== Signing in =====

-- Links with which a user sets the first password. A user has one at most.
CREATE TABLE invites (
    id CHAR(30) COLLATE ascii_bin NOT NULL,
    user_id CHAR(30) COLLATE ascii_bin NOT NULL,
    hash_key_id SMALLINT UNSIGNED NOT NULL,
    hash BINARY(32) NOT NULL,
    expires_at_ms BIGINT NOT NULL,
    PRIMARY KEY (id),
    UNIQUE KEY invites_user (user_id),
    CONSTRAINT invites_user FOREIGN KEY (user_id) REFERENCES users (id) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Codes that replace the second factor. Each works once.
CREATE TABLE recovery_codes (
    user_id CHAR(30) COLLATE ascii_bin NOT NULL,
    hash_key_id SMALLINT UNSIGNED NOT NULL,
    hash BINARY(32) NOT NULL,
    PRIMARY KEY (user_id, hash),
    CONSTRAINT recovery_codes_user FOREIGN KEY (user_id) REFERENCES users (id) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Passkeys (WebAuthn). The authenticator knows the private key. challenge_at_ms: when the last challenge that it signed
-- was made; older challenges are refused. sign_count: the counter of the authenticator, 0 without one.
CREATE TABLE passkeys (
    id CHAR(30) COLLATE ascii_bin NOT NULL,
    user_id CHAR(30) COLLATE ascii_bin NOT NULL,
    credential_id VARBINARY(1023) NOT NULL,
    algorithm SMALLINT NOT NULL,
    public_key VARBINARY(259) NOT NULL,
    sign_count INT UNSIGNED NOT NULL,
    challenge_at_ms BIGINT NOT NULL DEFAULT 0,
    name VARCHAR(64) NOT NULL,
    created_at_ms BIGINT NOT NULL,
    last_used_at_ms BIGINT NULL,
    PRIMARY KEY (id),
    UNIQUE KEY passkeys_credential (credential_id),
    KEY passkeys_user (user_id, id),
    CONSTRAINT passkeys_user FOREIGN KEY (user_id) REFERENCES users (id) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Rate limits of sign-ins, by address, by account and by both: due_at_ms is when the next attempt would be due at the
-- rate that is allowed for ever. A row whose time has passed has no effect.
CREATE TABLE login_attempts (
    subject VARCHAR(128) COLLATE ascii_bin NOT NULL,
    due_at_ms BIGINT NOT NULL,
    PRIMARY KEY (subject),
    KEY login_attempts_due (due_at_ms)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Users of an identity provider (OpenID Connect): its own, unchanging name for a user, and ours.
CREATE TABLE identities (
    issuer VARCHAR(255) COLLATE ascii_bin NOT NULL,
    subject VARCHAR(255) COLLATE ascii_bin NOT NULL,
    user_id CHAR(30) COLLATE ascii_bin NOT NULL,
    created_at_ms BIGINT NOT NULL,
    PRIMARY KEY (issuer, subject),
    KEY identities_user (user_id),
    CONSTRAINT identities_user FOREIGN KEY (user_id) REFERENCES users (id) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Programs that ask to act for a user (RFC 8628). The program holds a secret, stored as a keyed hash, and shows a code
-- that a signed-in user confirms in the console. epoch is the user's credentials_epoch at that moment: a later change
-- voids the confirmation.
-- network: of the address, by which places are shared. login_id: the sign-in with which the key will end; NULL: none.
CREATE TABLE device_logins (
    id CHAR(30) COLLATE ascii_bin NOT NULL,
    hash_key_id SMALLINT UNSIGNED NOT NULL,
    hash BINARY(32) NOT NULL,
    user_code CHAR(8) COLLATE ascii_bin NOT NULL,
    client VARCHAR(40) COLLATE ascii_bin NOT NULL,
    address VARCHAR(45) COLLATE ascii_bin NOT NULL,
    network VARCHAR(45) COLLATE ascii_bin NOT NULL,
    state VARCHAR(8) COLLATE ascii_bin NOT NULL,
    user_id CHAR(30) COLLATE ascii_bin NULL,
    login_id CHAR(30) COLLATE ascii_bin NULL,
    epoch INT UNSIGNED NULL,
    created_at_ms BIGINT NOT NULL,
    expires_at_ms BIGINT NOT NULL,
    poll_at_ms BIGINT NOT NULL,
    PRIMARY KEY (id),
    UNIQUE KEY device_logins_user_code (user_code),
    KEY device_logins_expires (expires_at_ms),
    KEY device_logins_user (user_id),
    KEY device_logins_login (login_id),
    KEY device_logins_network (network, id),
    CONSTRAINT device_logins_user FOREIGN KEY (user_id) REFERENCES users (id) ON DELETE CASCADE,
    CONSTRAINT device_logins_login FOREIGN KEY (login_id) REFERENCES logins (id) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- ===== Hosts and fronts =====

-- Runtime hosts. state: active, draining. The host's monitor sets silent_since_ms (its Incus does not answer) and
-- down_since_ms (its relay does not answer either); the operator sets lost_at_ms (the host will not come back).
-- firewall_url NULL: the host has no firewall, and its sandboxes stay closed. relay_url NULL: the host is reached
-- directly. network: the addresses that its packet filter and relay accept; NULL: address_range only.
-- leaving 1: the host is being drained. memory_overcommit: per cent of its memory that it may promise.
-- disk_overcommit: how many times its pool it may promise; 0: no bound. memory_low 1: it takes no new sandboxes.
CREATE TABLE hosts (
    id INT UNSIGNED NOT NULL AUTO_INCREMENT,
    name VARCHAR(63) COLLATE ascii_bin NOT NULL,
    state VARCHAR(16) COLLATE ascii_bin NOT NULL,
    url VARCHAR(255) NOT NULL,
    server_cert TEXT NULL,
    project VARCHAR(63) NOT NULL,
    pool VARCHAR(63) NOT NULL,
    nic_prefix VARCHAR(2) COLLATE ascii_bin NOT NULL,
    address_range VARCHAR(18) COLLATE ascii_bin NOT NULL,
    vcpus INT UNSIGNED NOT NULL,
    memory_mb INT UNSIGNED NOT NULL,
    memory_overcommit SMALLINT UNSIGNED NOT NULL DEFAULT 100,
    memory_low TINYINT UNSIGNED NOT NULL DEFAULT 0,
    created_at_ms BIGINT NOT NULL,
    firewall_url VARCHAR(255) NULL,
    disk_overcommit INT UNSIGNED NOT NULL DEFAULT 0,
    used_vcpus BIGINT NOT NULL DEFAULT 0,
    used_memory_mb BIGINT NOT NULL DEFAULT 0,
    sandboxes BIGINT NOT NULL DEFAULT 0,
    relay_url VARCHAR(255) COLLATE ascii_bin NULL,
    silent_since_ms BIGINT NULL,
    down_since_ms BIGINT NULL,
    lost_at_ms BIGINT NULL,
    network VARCHAR(18) COLLATE ascii_bin NULL,
    leaving TINYINT UNSIGNED NOT NULL DEFAULT 0,
    processors INT UNSIGNED NOT NULL DEFAULT 0,
    architecture VARCHAR(32) COLLATE ascii_bin NOT NULL DEFAULT '',
    PRIMARY KEY (id),
    UNIQUE KEY hosts_name (name)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Every address of a host's range, claimed by the name of the instance that uses it. The address that has been free
-- for longest is taken first, so that no stale neighbour entry meets a new instance. An address belongs to one sandbox
-- of the whole deployment. policy_of: a deleted sandbox whose policy may still be in the firewall; the address is not
-- given away until a dispatcher, due at policy_due_at_ms, has removed that policy.
CREATE TABLE host_addresses (
    host_id INT UNSIGNED NOT NULL,
    address INT UNSIGNED NOT NULL,
    holder VARCHAR(63) COLLATE ascii_bin NULL,
    released_at_ms BIGINT NOT NULL DEFAULT 0,
    policy_of CHAR(30) COLLATE ascii_bin NULL,
    policy_due_at_ms BIGINT NULL,
    PRIMARY KEY (host_id, address),
    UNIQUE KEY host_addresses_address (address),
    KEY host_addresses_free (host_id, holder, released_at_ms),
    KEY host_addresses_policy (policy_due_at_ms),
    CONSTRAINT host_addresses_host FOREIGN KEY (host_id) REFERENCES hosts (id)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- The last measurement of each host's storage pool: its size, what is used, and the disks and volumes promised on it.
-- A transaction that promises more locks the row until it ends. No row: not measured yet.
CREATE TABLE host_pools (
    host_id INT UNSIGNED NOT NULL,
    total_mb BIGINT UNSIGNED NOT NULL,
    used_mb BIGINT UNSIGNED NOT NULL,
    promised_gb BIGINT UNSIGNED NOT NULL,
    measured_at_ms BIGINT NOT NULL,
    PRIMARY KEY (host_id),
    CONSTRAINT host_pools_host FOREIGN KEY (host_id) REFERENCES hosts (id) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Machines that become hosts: one row for each token of `sandlotctl host token`, whose secret is stored as a keyed
-- hash. state: waiting (no machine has shown the token), taken (a machine sets itself up), trial (it says that it is
-- ready), active. options: what the operator chose for the row in hosts. sealed: the secrets that the machine gets,
-- removed when the host is active. machine: hash of a secret of the machine that took the token; no other machine gets
-- an answer.
CREATE TABLE host_joins (
    id VARCHAR(32) COLLATE ascii_bin NOT NULL,
    hash_key_id SMALLINT UNSIGNED NOT NULL,
    hash BINARY(32) NOT NULL,
    name VARCHAR(63) COLLATE ascii_bin NOT NULL,
    options TEXT NOT NULL,
    sealed BLOB NULL,
    machine BINARY(32) NULL,
    address VARCHAR(45) COLLATE ascii_bin NOT NULL DEFAULT '',
    state VARCHAR(16) COLLATE ascii_bin NOT NULL,
    since_ms BIGINT NOT NULL,
    failure VARCHAR(1000) NOT NULL DEFAULT '',
    expires_at_ms BIGINT NOT NULL,
    lease_owner VARCHAR(64) COLLATE ascii_bin NULL,
    lease_until_ms BIGINT NOT NULL DEFAULT 0,
    attempts INT UNSIGNED NOT NULL DEFAULT 0,
    PRIMARY KEY (id),
    UNIQUE KEY host_joins_name (name),
    KEY host_joins_due (state, lease_until_ms)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Front nodes, and those of their settings that must be equal on all of them, as a dispatcher there last reported.
CREATE TABLE fronts (
    name VARCHAR(64) NOT NULL,
    settings TEXT NOT NULL,
    seen_at_ms BIGINT NOT NULL,
    PRIMARY KEY (name)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- The keys of the deployment's key ring, by fingerprint. A front whose key file differs finds out here. in_use 0: the
-- key is known, and no front seals with it yet.
CREATE TABLE keyring_keys (
    key_id SMALLINT UNSIGNED NOT NULL,
    fingerprint BINARY(32) NOT NULL,
    in_use TINYINT UNSIGNED NOT NULL,
    added_at_ms BIGINT NOT NULL,
    PRIMARY KEY (key_id)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Work that one process of the deployment does at a time; the process renews until_ms while it lives. The row
-- 'database.writer' names the node of a Galera cluster that takes the writes, and has no time.
CREATE TABLE leases (
    name VARCHAR(64) COLLATE ascii_bin NOT NULL,
    holder VARCHAR(128) NOT NULL,
    until_ms BIGINT NOT NULL,
    PRIMARY KEY (name)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Reports for operators that only an administrator's program can make: the newest of each name.
CREATE TABLE reports (
    name VARCHAR(16) COLLATE ascii_bin NOT NULL,
    made_at_ms BIGINT NOT NULL,
    body MEDIUMTEXT NOT NULL,
    PRIMARY KEY (name)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- ===== Templates =====

-- Templates. is_public 1: other teams may use it as <team>/<slug>. sandboxes_made: sandboxes made from it, counted from
-- their rows.
CREATE TABLE templates (
    id CHAR(30) COLLATE ascii_bin NOT NULL,
    owner CHAR(30) COLLATE ascii_bin NOT NULL,
    slug VARCHAR(63) COLLATE ascii_bin NOT NULL,
    created_at_ms BIGINT NOT NULL,
    is_public TINYINT UNSIGNED NOT NULL DEFAULT 0,
    sandboxes_made BIGINT UNSIGNED NOT NULL DEFAULT 0,
    last_made_at_ms BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (id),
    UNIQUE KEY templates_slug (owner, slug),
    CONSTRAINT templates_owner FOREIGN KEY (owner) REFERENCES teams (id)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Versions of templates. state: building, ready, failed, deleting (its sources are still on their hosts), deleted; a
-- deleted row stays for the records that name it. A ready version never changes. A version is built from a checkpoint,
-- from an image by name, or by steps from base_version_id. A dispatcher builds a version and holds it until
-- lease_until_ms; NULL: sandlotctl builds it. copied_instance on copied_host_id: what is copied when the steps are done.
-- net_admin 1: instances may change their interfaces and routes. size_mb NULL: not measured. from_image: the OCI image
-- whose files took the place of the base's. image_config: JSON, what that image or the base's image says of itself.
-- start: how the start command of a sandbox comes to run: pending (not decided yet, during the build), command, memory;
-- empty: there is none. memory_id: the checkpoint whose memory has it running.
CREATE TABLE template_versions (
    id CHAR(30) COLLATE ascii_bin NOT NULL,
    template_id CHAR(30) COLLATE ascii_bin NOT NULL,
    version INT UNSIGNED NOT NULL,
    state VARCHAR(16) COLLATE ascii_bin NOT NULL,
    virtual_machine TINYINT UNSIGNED NOT NULL,
    cpu INT UNSIGNED NOT NULL,
    memory_mb INT UNSIGNED NOT NULL,
    image VARCHAR(255) NOT NULL,
    fingerprint VARCHAR(64) COLLATE ascii_bin NOT NULL DEFAULT '',
    created_at_ms BIGINT NOT NULL,
    checkpoint_id CHAR(30) COLLATE ascii_bin NULL,
    lease_owner VARCHAR(64) COLLATE ascii_bin NOT NULL DEFAULT '',
    lease_until_ms BIGINT NULL,
    attempts INT UNSIGNED NOT NULL DEFAULT 0,
    finished_at_ms BIGINT NULL,
    net_admin TINYINT NOT NULL DEFAULT 0,
    size_mb INT UNSIGNED NULL,
    base_version_id CHAR(30) COLLATE ascii_bin NULL,
    copied_host_id INT UNSIGNED NULL,
    copied_instance VARCHAR(63) COLLATE ascii_bin NULL,
    from_image VARCHAR(512) COLLATE ascii_bin NULL,
    image_config MEDIUMTEXT NULL,
    start VARCHAR(8) COLLATE ascii_bin NOT NULL DEFAULT '',
    memory_id CHAR(30) COLLATE ascii_bin NULL,
    wanted_tags MEDIUMTEXT NULL,
    PRIMARY KEY (id),
    UNIQUE KEY template_versions_number (template_id, version),
    KEY template_versions_work (state, lease_until_ms),
    KEY template_versions_checkpoint (checkpoint_id, state),
    KEY template_versions_memory (memory_id),
    CONSTRAINT template_versions_template FOREIGN KEY (template_id) REFERENCES templates (id)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Build logs of versions, in parts: at_byte is the place of the part in the whole log.
CREATE TABLE template_logs (
    template_version_id CHAR(30) COLLATE ascii_bin NOT NULL,
    at_byte INT UNSIGNED NOT NULL,
    text TEXT NOT NULL,
    PRIMARY KEY (template_version_id, at_byte),
    CONSTRAINT template_logs_version FOREIGN KEY (template_version_id) REFERENCES template_versions (id) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Where the source instance of a version is ready to be copied.
CREATE TABLE template_sources (
    template_version_id CHAR(30) COLLATE ascii_bin NOT NULL,
    host_id INT UNSIGNED NOT NULL,
    instance_name VARCHAR(63) COLLATE ascii_bin NOT NULL,
    PRIMARY KEY (template_version_id, host_id),
    KEY template_sources_host (host_id),
    CONSTRAINT template_sources_host FOREIGN KEY (host_id) REFERENCES hosts (id),
    CONSTRAINT template_sources_version FOREIGN KEY (template_version_id) REFERENCES template_versions (id)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Tags: names that point to a version and can be moved to another one.
CREATE TABLE template_tags (
    template_id CHAR(30) COLLATE ascii_bin NOT NULL,
    tag VARCHAR(128) COLLATE ascii_bin NOT NULL,
    template_version_id CHAR(30) COLLATE ascii_bin NOT NULL,
    assigned_at_ms BIGINT NOT NULL,
    PRIMARY KEY (template_id, tag),
    KEY template_tags_version (template_version_id),
    CONSTRAINT template_tags_template FOREIGN KEY (template_id) REFERENCES templates (id),
    CONSTRAINT template_tags_version FOREIGN KEY (template_version_id) REFERENCES template_versions (id)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- One row: the sandboxes up to this id are counted in templates.sandboxes_made.
CREATE TABLE template_uses (
    id TINYINT UNSIGNED NOT NULL,
    counted_before CHAR(30) COLLATE ascii_bin NOT NULL,
    PRIMARY KEY (id)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
INSERT INTO template_uses (id, counted_before) VALUES (1, '');

-- The steps of a version that is built by steps. They run in a sandbox of the team, whose disk becomes the version.
-- state: waiting (the steps are not sent yet), running, copying, starting (a sandbox of the copy runs the start command,
-- to keep its memory), done. sealed: the steps, which may hold secrets; NULL
-- before they are sent and after the end, except after a failure, for a retry. tags: a JSON list for the finished version. step: how many are done; begun 1:
-- the next one runs. output_at: bytes read of its output. cached_at_ms: when the sandbox began, or a step was cached.
-- failed_step: "base", a number from 1, or "finalize". failure_code: for programs: '', or no_user: the sandbox has no user
-- with the name in no_user. result_key: a hash of all that decides the version's files and its
-- start; NULL: not known. step_titles: a JSON list of the steps, with no more than the log says; step_times: a JSON list of
-- those that have begun, each with begin, end and whether it was cached.
CREATE TABLE template_recipes (
    template_version_id CHAR(30) COLLATE ascii_bin NOT NULL,
    team_id CHAR(30) COLLATE ascii_bin NOT NULL,
    user_id CHAR(30) COLLATE ascii_bin NOT NULL,
    state VARCHAR(16) COLLATE ascii_bin NOT NULL,
    sealed MEDIUMBLOB NULL,
    sandbox_id CHAR(30) COLLATE ascii_bin NULL,
    step INT UNSIGNED NOT NULL DEFAULT 0,
    begun TINYINT UNSIGNED NOT NULL DEFAULT 0,
    output_at BIGINT UNSIGNED NOT NULL DEFAULT 0,
    cached_at_ms BIGINT NOT NULL DEFAULT 0,
    failed_step VARCHAR(16) COLLATE ascii_bin NULL,
    failure VARCHAR(1024) NULL,
    failure_code VARCHAR(16) COLLATE ascii_bin NOT NULL DEFAULT '',
    no_user VARCHAR(64) NOT NULL DEFAULT '',
    result_key CHAR(64) COLLATE ascii_bin NULL,
    step_titles MEDIUMTEXT NULL,
    step_times MEDIUMTEXT NULL,
    lease_owner VARCHAR(64) COLLATE ascii_bin NOT NULL DEFAULT '',
    lease_until_ms BIGINT NULL,
    attempts INT UNSIGNED NOT NULL DEFAULT 0,
    created_at_ms BIGINT NOT NULL,
    PRIMARY KEY (template_version_id),
    KEY template_recipes_work (state, lease_until_ms),
    KEY template_recipes_team (team_id, state),
    KEY template_recipes_result (team_id, result_key),
    CONSTRAINT template_recipes_version FOREIGN KEY (template_version_id) REFERENCES template_versions (id)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Archives that steps copy from, found by the hash that the client made of its files. They are deleted a day after
-- their last use. listing: JSON, a hash of each file, by which steps recognize the files that they copy; NULL: they count
-- the whole archive.
CREATE TABLE recipe_files (
    id CHAR(30) COLLATE ascii_bin NOT NULL,
    team_id CHAR(30) COLLATE ascii_bin NOT NULL,
    hash VARCHAR(64) COLLATE ascii_bin NOT NULL,
    size BIGINT UNSIGNED NOT NULL DEFAULT 0,
    is_whole TINYINT UNSIGNED NOT NULL DEFAULT 0,
    content_hash CHAR(64) COLLATE ascii_bin NOT NULL DEFAULT '',
    used_at_ms BIGINT NOT NULL,
    listing MEDIUMTEXT NULL,
    PRIMARY KEY (id),
    KEY recipe_files_hash (team_id, hash),
    KEY recipe_files_used (used_at_ms)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- The bytes of these archives.
CREATE TABLE recipe_file_parts (
    file_id CHAR(30) COLLATE ascii_bin NOT NULL,
    number INT UNSIGNED NOT NULL,
    data MEDIUMBLOB NOT NULL,
    PRIMARY KEY (file_id, number),
    CONSTRAINT recipe_file_parts_file FOREIGN KEY (file_id) REFERENCES recipe_files (id) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Steps of builds that later builds of the team do not repeat. step_key: a hash of the base, of this step and of all
-- before it, with the files that they copy. checkpoint_id: the disk after the step; only a kept checkpoint is used.
CREATE TABLE recipe_cache (
    team_id CHAR(30) COLLATE ascii_bin NOT NULL,
    step_key CHAR(64) COLLATE ascii_bin NOT NULL,
    checkpoint_id CHAR(30) COLLATE ascii_bin NOT NULL,
    used_at_ms BIGINT NOT NULL,
    PRIMARY KEY (team_id, step_key),
    KEY recipe_cache_used (team_id, used_at_ms),
    KEY recipe_cache_active (used_at_ms, team_id),
    KEY recipe_cache_checkpoint (checkpoint_id)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Images of the hosts that every team may build templates from, by alias or fingerprint.
CREATE TABLE allowed_images (
    name VARCHAR(255) COLLATE ascii_bin NOT NULL,
    created_at_ms BIGINT NOT NULL,
    PRIMARY KEY (name)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Warm instances: started ahead, waiting for a sandbox to claim them. state: starting, ready, leaving. A dispatcher
-- works on one that is starting or leaving until lease_until_ms.
CREATE TABLE warm_instances (
    instance_name VARCHAR(63) COLLATE ascii_bin NOT NULL,
    template_version_id CHAR(30) COLLATE ascii_bin NOT NULL,
    host_id INT UNSIGNED NOT NULL,
    address INT UNSIGNED NOT NULL,
    agent_key_id SMALLINT UNSIGNED NOT NULL,
    cpu INT UNSIGNED NOT NULL,
    memory_mb INT UNSIGNED NOT NULL,
    disk_gb INT UNSIGNED NOT NULL,
    state VARCHAR(16) COLLATE ascii_bin NOT NULL,
    lease_until_ms BIGINT NOT NULL,
    created_at_ms BIGINT NOT NULL,
    PRIMARY KEY (instance_name),
    KEY warm_instances_claim (template_version_id, state, created_at_ms),
    KEY warm_instances_lease (state, lease_until_ms),
    KEY warm_instances_host (host_id),
    CONSTRAINT warm_instances_host FOREIGN KEY (host_id) REFERENCES hosts (id)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- ===== Sandboxes =====

-- Sandboxes. state: see sandbox/sandbox_state.def; destroying and destroyed are never shown. visible is 1 until the
-- sandbox is deleted. reserved: 1 while it holds quota of its team and room on its host; 2 when it is deleted and holds
-- the room only, until its instance is gone. incarnation counts lifecycle moves: the result of a move counts only if
-- the number is still the same. version changes with each change of what is shown; no number is used twice.
-- session_epoch: a new number ends all access tokens of the sandbox. Tokens are valid for the sum of this number and that of
-- the team. sessions_due_at_ms: when a dispatcher disconnects their holders; NULL: nothing is due.
-- network is the wanted policy and network_revision counts its changes; network_applied is the revision that the
-- firewall is known to have, 0: none. A dispatcher tries again at network_due_at_ms; NULL: nothing is due.
-- ports: "3000/1,8443/3", where 1 is public and 2 means that the server speaks TLS. request_host: the Host header that
-- servers in the sandbox see, when it is not the preview's own name.
-- on_pause_failure: what a pause does that cannot keep the memory (disk: stop with the disk only). pause_memory: what a
-- pause at the deadline keeps. memory_left 1: the move in flight goes without the memory.
-- taken_name: the name while the sandbox is not deleted; no other sandbox of the team has it.
-- deadline_told_ms, denials_told: the deadline and the denials that were announced already.
-- archived: 0 a copy in the archive may be wanted, 1 a row of archives exists, 2 none can be made.
CREATE TABLE sandboxes (
    id CHAR(30) COLLATE ascii_bin NOT NULL,
    team_id CHAR(30) COLLATE ascii_bin NOT NULL,
    created_by CHAR(30) COLLATE ascii_bin NOT NULL,
    route CHAR(26) COLLATE ascii_bin NOT NULL,
    state VARCHAR(16) COLLATE ascii_bin NOT NULL,
    visible TINYINT UNSIGNED NOT NULL,
    reserved TINYINT UNSIGNED NOT NULL,
    incarnation INT UNSIGNED NOT NULL,
    operation_id CHAR(30) COLLATE ascii_bin NULL,
    name VARCHAR(63) COLLATE ascii_bin NOT NULL DEFAULT '',
    taken_name VARCHAR(63) COLLATE ascii_bin AS (IF(visible = 1 AND name <> '', name, NULL)) STORED,
    template_slug VARCHAR(63) COLLATE ascii_bin NOT NULL,
    template_version_id CHAR(30) COLLATE ascii_bin NOT NULL,
    virtual_machine TINYINT UNSIGNED NOT NULL DEFAULT 0,
    snapshot_id CHAR(30) COLLATE ascii_bin NULL,
    timeout_s INT UNSIGNED NOT NULL,
    deadline_at_ms BIGINT NULL,
    on_timeout VARCHAR(8) COLLATE ascii_bin NOT NULL,
    auto_resume TINYINT UNSIGNED NOT NULL,
    cpu INT UNSIGNED NOT NULL,
    memory_mb INT UNSIGNED NOT NULL,
    disk_gb INT UNSIGNED NOT NULL,
    metadata MEDIUMTEXT NOT NULL,
    volume_mounts TEXT NOT NULL,
    hooks TEXT NULL,
    network MEDIUMTEXT NOT NULL,
    allow_public_traffic TINYINT UNSIGNED NOT NULL,
    envs_sealed MEDIUMBLOB NULL,
    host_id INT UNSIGNED NOT NULL,
    instance_name VARCHAR(63) COLLATE ascii_bin NOT NULL,
    address INT UNSIGNED NOT NULL,
    agent_key_id SMALLINT UNSIGNED NOT NULL,
    resumed_from VARCHAR(8) COLLATE ascii_bin NULL,
    created_at_ms BIGINT NOT NULL,
    updated_at_ms BIGINT NOT NULL,
    stopped_at_ms BIGINT NULL,
    destroyed_at_ms BIGINT NULL,
    network_revision BIGINT UNSIGNED NOT NULL DEFAULT 1,
    network_applied BIGINT UNSIGNED NOT NULL DEFAULT 0,
    network_due_at_ms BIGINT NULL,
    cleanup_at_ms BIGINT NULL,
    on_pause_failure VARCHAR(12) COLLATE ascii_bin NOT NULL DEFAULT 'disk',
    pause_failures INT UNSIGNED NOT NULL DEFAULT 0,
    network_failure VARCHAR(500) NOT NULL DEFAULT '',
    session_epoch INT UNSIGNED NOT NULL DEFAULT 0,
    sessions_due_at_ms BIGINT NULL,
    all_ports TINYINT NOT NULL DEFAULT 0,
    ports VARCHAR(1600) COLLATE ascii_bin NOT NULL DEFAULT '',
    request_host VARCHAR(255) COLLATE ascii_bin NOT NULL DEFAULT '',
    pause_memory TINYINT NOT NULL DEFAULT 1,
    memory_left TINYINT NOT NULL DEFAULT 0,
    deadline_told_ms BIGINT NULL,
    denials_told BIGINT UNSIGNED NOT NULL DEFAULT 0,
    forked_from CHAR(30) COLLATE ascii_bin NULL,
    archived TINYINT UNSIGNED NOT NULL DEFAULT 0,
    version BIGINT UNSIGNED NOT NULL DEFAULT 0,
    silent_since_ms BIGINT NULL,
    idle_timeout INT UNSIGNED NOT NULL DEFAULT 0,
    idle_connections VARCHAR(8) COLLATE ascii_bin NOT NULL DEFAULT 'wait',
    hold_until_ms BIGINT NULL,
    moved_by VARCHAR(8) COLLATE ascii_bin NOT NULL DEFAULT '',
    stop_reason VARCHAR(16) COLLATE ascii_bin NOT NULL DEFAULT '',
    PRIMARY KEY (id),
    UNIQUE KEY sandboxes_route (route),
    UNIQUE KEY sandboxes_instance (instance_name),
    UNIQUE KEY sandboxes_name (team_id, taken_name),
    KEY sandboxes_list (team_id, visible, id),
    KEY sandboxes_quota (team_id, reserved, cpu, memory_mb),
    KEY sandboxes_host (host_id, reserved, cpu, memory_mb),
    KEY sandboxes_deadline (state, deadline_at_ms),
    KEY sandboxes_version (template_version_id),
    KEY sandboxes_list_state (team_id, state, id),
    KEY sandboxes_network_due (network_due_at_ms),
    KEY sandboxes_sessions_due (sessions_due_at_ms),
    KEY sandboxes_snapshot (snapshot_id, state),
    KEY sandboxes_cleanup (state, cleanup_at_ms, stopped_at_ms),
    KEY sandboxes_stopped (state, team_id, stopped_at_ms, id),
    KEY sandboxes_disk (host_id, state, disk_gb),
    KEY sandboxes_archive (team_id, archived, state, stopped_at_ms),
    CONSTRAINT sandboxes_version FOREIGN KEY (template_version_id) REFERENCES template_versions (id)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Metadata for the filters of the list. Keys and values are compared byte by byte, so that trailing blanks count.
CREATE TABLE sandbox_metadata (
    sandbox_id CHAR(30) COLLATE ascii_bin NOT NULL,
    name VARBINARY(256) NOT NULL,
    team_id CHAR(30) COLLATE ascii_bin NOT NULL,
    value VARBINARY(2048) NOT NULL,
    PRIMARY KEY (sandbox_id, name),
    KEY sandbox_metadata_match (team_id, name, value, sandbox_id),
    CONSTRAINT sandbox_metadata_sandbox FOREIGN KEY (sandbox_id) REFERENCES sandboxes (id) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Host names that the policies of sandboxes deny, or have rules or a proxy for: the firewall looks up their addresses.
-- denied_names has each name of a team once. A name that no sandbox has any more stays until the room is needed.
CREATE TABLE denied_names (
    team_id CHAR(30) COLLATE ascii_bin NOT NULL,
    name VARCHAR(255) COLLATE ascii_bin NOT NULL,
    PRIMARY KEY (team_id, name)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
CREATE TABLE sandbox_denied_names (
    sandbox_id CHAR(30) COLLATE ascii_bin NOT NULL,
    team_id CHAR(30) COLLATE ascii_bin NOT NULL,
    name VARCHAR(255) COLLATE ascii_bin NOT NULL,
    PRIMARY KEY (sandbox_id, name),
    KEY sandbox_denied_names_team (team_id, name),
    CONSTRAINT sandbox_denied_names_sandbox FOREIGN KEY (sandbox_id) REFERENCES sandboxes (id) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- API keys that got tokens of a sandbox, so that these end with the key. ends_at_ms: the time at which the key expires.
CREATE TABLE sandbox_token_keys (
    sandbox_id CHAR(30) COLLATE ascii_bin NOT NULL,
    api_key_id CHAR(30) COLLATE ascii_bin NOT NULL,
    ends_at_ms BIGINT NULL,
    PRIMARY KEY (sandbox_id, api_key_id),
    KEY sandbox_token_keys_key (api_key_id),
    KEY sandbox_token_keys_ends (ends_at_ms),
    CONSTRAINT sandbox_token_keys_sandbox FOREIGN KEY (sandbox_id) REFERENCES sandboxes (id) ON DELETE CASCADE,
    CONSTRAINT sandbox_token_keys_key FOREIGN KEY (api_key_id) REFERENCES api_keys (id) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Teams whose access tokens have ended (teams.session_epoch), while a dispatcher schedules the end of their connections:
-- for sandboxes with an id up to done_up_to it has. cut_at_ms: when the connections end. again_at_ms: the same for a second
-- pass over all sandboxes, because the tokens ended again; NULL: no second pass.
CREATE TABLE ended_access (
    team_id CHAR(30) COLLATE ascii_bin NOT NULL,
    done_up_to CHAR(30) COLLATE ascii_bin NOT NULL,
    cut_at_ms BIGINT NOT NULL,
    again_at_ms BIGINT NULL,
    due_at_ms BIGINT NOT NULL,
    PRIMARY KEY (team_id),
    KEY ended_access_due (due_at_ms)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Lifecycle operations in flight and their history. state: running, done, failed, superseded. The owner works on one
-- until lease_until_ms; after that any dispatcher takes it over. host_id: the destination of a move. hook_since_ms: its
-- hook runs since then, and no process waits for it.
CREATE TABLE operations (
    id CHAR(30) COLLATE ascii_bin NOT NULL,
    sandbox_id CHAR(30) COLLATE ascii_bin NOT NULL,
    kind VARCHAR(16) COLLATE ascii_bin NOT NULL,
    state VARCHAR(16) COLLATE ascii_bin NOT NULL,
    incarnation INT UNSIGNED NOT NULL,
    lease_owner VARCHAR(64) COLLATE ascii_bin NOT NULL,
    lease_until_ms BIGINT NOT NULL,
    attempts INT UNSIGNED NOT NULL,
    last_error VARCHAR(512) NOT NULL DEFAULT '',
    created_at_ms BIGINT NOT NULL,
    finished_at_ms BIGINT NULL,
    host_id INT UNSIGNED NULL,
    hook_since_ms BIGINT NULL,
    PRIMARY KEY (id),
    KEY operations_sandbox (sandbox_id, id),
    KEY operations_lease (state, lease_until_ms)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Sandboxes whose host has set their size at the claim of a warm instance, and whose size Incus does not know yet. A
-- dispatcher updates Incus at due_at_ms. lease_owner '': no dispatcher works on it.
CREATE TABLE sandbox_sizes (
    sandbox_id CHAR(30) COLLATE ascii_bin NOT NULL,
    due_at_ms BIGINT NOT NULL,
    lease_owner VARCHAR(64) COLLATE ascii_bin NOT NULL DEFAULT '',
    attempts INT UNSIGNED NOT NULL DEFAULT 0,
    PRIMARY KEY (sandbox_id),
    KEY sandbox_sizes_due (due_at_ms)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- The newest part of the process log of a stopped sandbox, sealed. size: bytes of sealed.
CREATE TABLE kept_logs (
    sandbox_id CHAR(30) COLLATE ascii_bin NOT NULL,
    team_id CHAR(30) COLLATE ascii_bin NOT NULL,
    kept_at_ms BIGINT NOT NULL,
    size INT UNSIGNED NOT NULL,
    sealed MEDIUMBLOB NOT NULL,
    PRIMARY KEY (sandbox_id),
    KEY kept_logs_team (team_id, kept_at_ms, size),
    CONSTRAINT kept_logs_sandbox FOREIGN KEY (sandbox_id) REFERENCES sandboxes (id) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- ===== Network policies =====

-- Named lists of entries that a policy may include. entries is a JSON array.
CREATE TABLE egress_profiles (
    name VARCHAR(63) COLLATE ascii_bin NOT NULL,
    entries MEDIUMTEXT NOT NULL,
    updated_at_ms BIGINT NOT NULL,
    PRIMARY KEY (name)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- The profile behind allow_package_registry_access. It always exists; the operator changes it. The entries are those of
-- conf/package-registries.
INSERT INTO egress_profiles (name, entries, updated_at_ms) VALUES ('package-registries', CONCAT(
    '["api.github.com:443", "archive.ubuntu.com:443", "archive.ubuntu.com:80", "codeload.github.com:443", ',
    '"crates.io:443", "deb.debian.org:443", "deb.debian.org:80", "files.pythonhosted.org:443", "github.com:443", ',
    '"index.crates.io:443", "index.rubygems.org:443", "nodejs.org:443", "packagist.org:443", ',
    '"proxy.golang.org:443", "pypi.org:443", "registry.npmjs.org:443", "registry.yarnpkg.com:443", ',
    '"repo.packagist.org:443", "rubygems.org:443", "security.debian.org:443", "security.debian.org:80", ',
    '"security.ubuntu.com:443", "security.ubuntu.com:80", "static.crates.io:443", "storage.googleapis.com:443", ',
    '"sum.golang.org:443"]'), 0);

-- The sandboxes that follow a profile when it changes.
CREATE TABLE sandbox_egress_profiles (
    profile VARCHAR(63) COLLATE ascii_bin NOT NULL,
    sandbox_id CHAR(30) COLLATE ascii_bin NOT NULL,
    PRIMARY KEY (profile, sandbox_id),
    KEY sandbox_egress_profiles_sandbox (sandbox_id),
    CONSTRAINT sandbox_egress_profiles_profile FOREIGN KEY (profile) REFERENCES egress_profiles (name),
    CONSTRAINT sandbox_egress_profiles_sandbox FOREIGN KEY (sandbox_id) REFERENCES sandboxes (id) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Secrets that requests of sandboxes get on their way out. value is sealed; hosts: JSON array of the names that it may be
-- sent to. created_by: the user who created it, or has set its hosts since. metadata: JSON object of E2B's clients. version
-- counts changes. used_at_ms: when a host last reported its use.
CREATE TABLE secrets (
    id CHAR(30) COLLATE ascii_bin NOT NULL,
    team_id CHAR(30) COLLATE ascii_bin NOT NULL,
    name VARCHAR(63) COLLATE ascii_bin NOT NULL,
    hosts TEXT NOT NULL,
    value BLOB NOT NULL,
    metadata TEXT NULL,
    for_sandboxes TINYINT NOT NULL DEFAULT 0,
    version BIGINT UNSIGNED NOT NULL DEFAULT 1,
    created_by CHAR(30) COLLATE ascii_bin NOT NULL,
    created_at_ms BIGINT NOT NULL,
    updated_at_ms BIGINT NOT NULL,
    used_at_ms BIGINT NULL,
    PRIMARY KEY (id),
    UNIQUE KEY secrets_of_team (team_id, name),
    KEY secrets_for_sandboxes (for_sandboxes, updated_at_ms)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- The egress proxy of a team, as in a policy: JSON. Sandboxes get it whose policy says nothing about one.
CREATE TABLE team_egress_proxies (
    team_id CHAR(30) COLLATE ascii_bin NOT NULL,
    proxy TEXT NOT NULL,
    PRIMARY KEY (team_id)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- The sandboxes whose egress rules mention a secret of their team, by its name.
CREATE TABLE sandbox_secrets (
    sandbox_id CHAR(30) COLLATE ascii_bin NOT NULL,
    team_id CHAR(30) COLLATE ascii_bin NOT NULL,
    name VARCHAR(63) COLLATE ascii_bin NOT NULL,
    PRIMARY KEY (sandbox_id, name),
    KEY sandbox_secrets_team (team_id, name),
    CONSTRAINT sandbox_secrets_sandbox FOREIGN KEY (sandbox_id) REFERENCES sandboxes (id) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Changed secrets whose sandboxes do not all have a new policy revision yet: those with an id up to done_up_to have. The
-- request that changes the secret does the work; a dispatcher does the rest at due_at_ms.
CREATE TABLE changed_secrets (
    team_id CHAR(30) COLLATE ascii_bin NOT NULL,
    name VARCHAR(63) COLLATE ascii_bin NOT NULL,
    done_up_to CHAR(30) COLLATE ascii_bin NOT NULL,
    due_at_ms BIGINT NOT NULL,
    PRIMARY KEY (team_id, name),
    KEY changed_secrets_due (due_at_ms)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Destinations that sandboxes ask for. target: an entry of a policy. until_ms: allowed until then; NULL: without an answer.
-- user_id: the creator of the sandbox. asked_at_ms: the latest event.
CREATE TABLE approvals (
    id CHAR(30) COLLATE ascii_bin NOT NULL,
    sandbox_id CHAR(30) COLLATE ascii_bin NOT NULL,
    team_id CHAR(30) COLLATE ascii_bin NOT NULL,
    user_id CHAR(30) COLLATE ascii_bin NOT NULL,
    target VARCHAR(300) COLLATE ascii_bin NOT NULL,
    asked_at_ms BIGINT NOT NULL,
    until_ms BIGINT NULL,
    PRIMARY KEY (id),
    UNIQUE KEY approvals_target (sandbox_id, target),
    KEY approvals_team (team_id, asked_at_ms),
    KEY approvals_user (user_id, asked_at_ms),
    KEY approvals_until (until_ms, asked_at_ms),
    CONSTRAINT approvals_sandbox FOREIGN KEY (sandbox_id) REFERENCES sandboxes (id) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- The authority that signs certificates of hosts with egress rules; its key is sealed. One row.
CREATE TABLE egress_authority (
    one TINYINT UNSIGNED NOT NULL,
    certificate TEXT NOT NULL,
    sealed_key BLOB NOT NULL,
    created_at_ms BIGINT NOT NULL,
    PRIMARY KEY (one)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- ===== Volumes =====

-- Volumes. state: creating, ready, deleting, deleted; the process that makes or removes one holds it until
-- lease_until_ms. taken is 1 while the name belongs to the volume, then NULL. generation counts attachments: an access
-- that was allowed before an attachment is not allowed after it. keeper_epoch: the volume server process that knows the
-- newest generation; '': none needs to.
CREATE TABLE volumes (
    id CHAR(30) COLLATE ascii_bin NOT NULL,
    team_id CHAR(30) COLLATE ascii_bin NOT NULL,
    created_by CHAR(30) COLLATE ascii_bin NOT NULL,
    name VARCHAR(63) COLLATE ascii_bin NOT NULL,
    taken TINYINT UNSIGNED NULL,
    state VARCHAR(16) COLLATE ascii_bin NOT NULL,
    visible TINYINT UNSIGNED NOT NULL,
    host_id INT UNSIGNED NOT NULL,
    size_gb INT UNSIGNED NOT NULL,
    generation BIGINT UNSIGNED NOT NULL,
    keeper_epoch VARCHAR(32) COLLATE ascii_bin NOT NULL,
    files_used_at_ms BIGINT NOT NULL,
    lease_until_ms BIGINT NOT NULL,
    created_at_ms BIGINT NOT NULL,
    deleted_at_ms BIGINT NULL,
    PRIMARY KEY (id),
    UNIQUE KEY volumes_name (team_id, name, taken),
    KEY volumes_list (team_id, visible, id),
    KEY volumes_lease (state, lease_until_ms),
    KEY volumes_host (host_id, taken, size_gb),
    CONSTRAINT volumes_team FOREIGN KEY (team_id) REFERENCES teams (id)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Which sandboxes mount a volume, from their create to the end of their instance. Their own row has the paths.
CREATE TABLE sandbox_volumes (
    team_id CHAR(30) COLLATE ascii_bin NOT NULL,
    volume_id CHAR(30) COLLATE ascii_bin NOT NULL,
    sandbox_id CHAR(30) COLLATE ascii_bin NOT NULL,
    PRIMARY KEY (team_id, volume_id, sandbox_id),
    KEY sandbox_volumes_sandbox (sandbox_id),
    KEY sandbox_volumes_volume (volume_id),
    CONSTRAINT sandbox_volumes_sandbox FOREIGN KEY (sandbox_id) REFERENCES sandboxes (id) ON DELETE CASCADE,
    CONSTRAINT sandbox_volumes_volume FOREIGN KEY (volume_id) REFERENCES volumes (id)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- The volume server of each host: the instance that serves the files of its volumes.
CREATE TABLE keepers (
    host_id INT UNSIGNED NOT NULL,
    instance_name VARCHAR(63) COLLATE ascii_bin NOT NULL,
    address INT UNSIGNED NOT NULL,
    secret_key_id SMALLINT UNSIGNED NOT NULL,
    created_at_ms BIGINT NOT NULL,
    PRIMARY KEY (host_id),
    CONSTRAINT keepers_host FOREIGN KEY (host_id) REFERENCES hosts (id)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- ===== Checkpoints, moves, archive =====

-- Checkpoints: named copies of a sandbox's disk, each a stopped instance on its host. state: creating, ready, forking,
-- deleting, deleted; only ready ones are shown. incarnation is that of the sandbox while the checkpoint is made, which
-- ties it to the operation that makes it. A name that is used again makes the next version. A deleted row stays, because
-- sandboxes that were restored from it share its data. size_mb: what the pool keeps for it in addition to its template.
-- memory 1: it holds the memory, and agent_instance and agent_key_id say which secret the agent in it knows.
-- for_fork 1: a fork made it for itself; it is never shown. archived: as in sandboxes.
CREATE TABLE checkpoints (
    id CHAR(30) COLLATE ascii_bin NOT NULL,
    team_id CHAR(30) COLLATE ascii_bin NOT NULL,
    created_by CHAR(30) COLLATE ascii_bin NOT NULL,
    sandbox_id CHAR(30) COLLATE ascii_bin NOT NULL,
    incarnation INT UNSIGNED NOT NULL,
    name VARCHAR(192) COLLATE ascii_bin NULL,
    state VARCHAR(16) COLLATE ascii_bin NOT NULL,
    template_slug VARCHAR(63) COLLATE ascii_bin NOT NULL,
    template_version_id CHAR(30) COLLATE ascii_bin NOT NULL,
    parent_id CHAR(30) COLLATE ascii_bin NULL,
    cpu INT UNSIGNED NOT NULL,
    memory_mb INT UNSIGNED NOT NULL,
    disk_gb INT UNSIGNED NOT NULL,
    size_mb INT UNSIGNED NOT NULL,
    host_id INT UNSIGNED NOT NULL,
    instance_name VARCHAR(63) COLLATE ascii_bin NOT NULL,
    lease_until_ms BIGINT NOT NULL,
    created_at_ms BIGINT NOT NULL,
    deleted_at_ms BIGINT NULL,
    cleanup_at_ms BIGINT NULL,
    memory TINYINT UNSIGNED NOT NULL DEFAULT 0,
    for_fork TINYINT UNSIGNED NOT NULL DEFAULT 0,
    agent_instance VARCHAR(63) COLLATE ascii_bin NOT NULL DEFAULT '',
    agent_key_id SMALLINT UNSIGNED NOT NULL DEFAULT 0,
    version INT UNSIGNED NOT NULL DEFAULT 1,
    archived TINYINT UNSIGNED NOT NULL DEFAULT 0,
    PRIMARY KEY (id),
    UNIQUE KEY checkpoints_instance (instance_name),
    UNIQUE KEY checkpoints_name (team_id, name, version),
    KEY checkpoints_list (team_id, state, id),
    KEY checkpoints_of_sandbox (sandbox_id, state, id),
    KEY checkpoints_work (state, lease_until_ms),
    KEY checkpoints_age (state, created_at_ms),
    KEY checkpoints_version (template_version_id),
    KEY checkpoints_host (host_id),
    KEY checkpoints_cleanup (state, cleanup_at_ms, created_at_ms),
    KEY checkpoints_old (team_id, state, created_at_ms),
    KEY checkpoints_archive (team_id, archived, state, created_at_ms),
    CONSTRAINT checkpoints_team FOREIGN KEY (team_id) REFERENCES teams (id),
    CONSTRAINT checkpoints_version FOREIGN KEY (template_version_id) REFERENCES template_versions (id)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Memory images: one row for each stopped sandbox and each checkpoint that keeps its memory; id is that of the sandbox
-- or checkpoint. size_mb: the memory that it had, which an image never exceeds. user_id: the user who created the
-- sandbox or checkpoint.
CREATE TABLE memory_images (
    id CHAR(30) COLLATE ascii_bin NOT NULL,
    team_id CHAR(30) COLLATE ascii_bin NOT NULL,
    user_id CHAR(30) COLLATE ascii_bin NOT NULL,
    size_mb INT UNSIGNED NOT NULL,
    PRIMARY KEY (id),
    KEY memory_images_team (team_id, size_mb),
    KEY memory_images_user (user_id, size_mb)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Moves to another host: checkpoints, volumes, template sources, and running sandboxes (kind sandbox); id names what
-- moves. state: copying; copied (a volume that waits for the others of its group); clearing (what is on clear_host_id is
-- removed); failed. asked 1: a request waits for it. generation: a volume's number, which changes when it is written to;
-- a sandbox's progress. deadline_at_ms: the deadline that the sandbox had.
CREATE TABLE moves (
    id CHAR(30) COLLATE ascii_bin NOT NULL,
    kind VARCHAR(16) COLLATE ascii_bin NOT NULL,
    team_id CHAR(30) COLLATE ascii_bin NOT NULL,
    group_id CHAR(30) COLLATE ascii_bin NOT NULL,
    state VARCHAR(16) COLLATE ascii_bin NOT NULL,
    asked TINYINT UNSIGNED NOT NULL,
    from_host_id INT UNSIGNED NOT NULL,
    to_host_id INT UNSIGNED NOT NULL,
    clear_host_id INT UNSIGNED NOT NULL DEFAULT 0,
    generation BIGINT UNSIGNED NOT NULL DEFAULT 0,
    deadline_at_ms BIGINT NOT NULL DEFAULT 0,
    lease_owner VARCHAR(64) COLLATE ascii_bin NOT NULL DEFAULT '',
    lease_until_ms BIGINT NOT NULL DEFAULT 0,
    attempts INT UNSIGNED NOT NULL DEFAULT 0,
    last_error VARCHAR(512) NOT NULL DEFAULT '',
    created_at_ms BIGINT NOT NULL,
    finished_at_ms BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (id),
    KEY moves_work (state, asked, lease_until_ms),
    KEY moves_group (group_id),
    KEY moves_team (team_id, state)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Copies of paused sandboxes and checkpoints in storage off the hosts. kind: sandbox, checkpoint. state: storing, whole,
-- removing. current_of: what this is the copy of; NULL once that has run again. object_key: its name in the storage;
-- upload: the storage's id of an unfinished upload. promised_host_id: the host that will have the sandbox in place of a
-- lost one. evicted_at_ms: when the copy on its own host was removed; NULL: it is there.
CREATE TABLE archives (
    id CHAR(30) COLLATE ascii_bin NOT NULL,
    kind VARCHAR(16) COLLATE ascii_bin NOT NULL,
    object_id CHAR(30) COLLATE ascii_bin NOT NULL,
    current_of CHAR(30) COLLATE ascii_bin NULL,
    team_id CHAR(30) COLLATE ascii_bin NOT NULL,
    state VARCHAR(16) COLLATE ascii_bin NOT NULL,
    incarnation INT UNSIGNED NOT NULL,
    promised_host_id INT UNSIGNED NULL,
    object_key VARCHAR(64) COLLATE ascii_bin NULL,
    upload VARCHAR(1024) COLLATE ascii_bin NULL,
    plain_bytes BIGINT UNSIGNED NOT NULL DEFAULT 0,
    stored_bytes BIGINT UNSIGNED NOT NULL DEFAULT 0,
    failure VARCHAR(512) NOT NULL DEFAULT '',
    lease_owner VARCHAR(64) COLLATE ascii_bin NOT NULL DEFAULT '',
    lease_until_ms BIGINT NULL,
    attempts INT UNSIGNED NOT NULL DEFAULT 0,
    created_at_ms BIGINT NOT NULL,
    whole_at_ms BIGINT NULL,
    evicted_at_ms BIGINT NULL,
    PRIMARY KEY (id),
    UNIQUE KEY archives_current (current_of),
    UNIQUE KEY archives_key (object_key),
    KEY archives_work (state, lease_until_ms),
    KEY archives_evicted (evicted_at_ms)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- ===== Usage and metrics =====

-- Usage, for bills. A sandbox has one open interval from its create to its deletion: kind runtime while it runs,
-- storage while it is stopped with its disk. One ends where the next begins, in the transaction of the move.
-- kind snapshot: a checkpoint's id is in sandbox_id, its size in size_mb. kind volume: a volume's id is in sandbox_id,
-- its size in disk_gb. ended_at_ms NULL: open. No foreign key to teams: it would make every create lock its team's row.
CREATE TABLE usage_intervals (
    sandbox_id CHAR(30) COLLATE ascii_bin NOT NULL,
    incarnation INT UNSIGNED NOT NULL,
    team_id CHAR(30) COLLATE ascii_bin NOT NULL,
    kind VARCHAR(8) COLLATE ascii_bin NOT NULL,
    cpu INT UNSIGNED NOT NULL,
    memory_mb INT UNSIGNED NOT NULL,
    disk_gb INT UNSIGNED NOT NULL,
    started_at_ms BIGINT NOT NULL,
    ended_at_ms BIGINT NULL,
    size_mb INT UNSIGNED NOT NULL DEFAULT 0,
    PRIMARY KEY (sandbox_id, incarnation),
    KEY usage_intervals_team (team_id, ended_at_ms, started_at_ms)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Measurements of running sandboxes, kept for metrics_retention_h hours. With the id of a team, or sample_host_id() of a
-- host: the sum of its running sandboxes in a round. span_ms: the time that cpu_ms covers, up to
-- at_ms; 0: unknown, as in the first one after a start. disk_bytes NULL: not measured yet.
CREATE TABLE sandbox_samples (
    sandbox_id CHAR(30) COLLATE ascii_bin NOT NULL,
    at_ms BIGINT NOT NULL,
    span_ms INT UNSIGNED NOT NULL,
    cpu_ms INT UNSIGNED NOT NULL,
    memory_bytes BIGINT UNSIGNED NOT NULL,
    cache_bytes BIGINT UNSIGNED NOT NULL,
    disk_bytes BIGINT UNSIGNED NULL,
    PRIMARY KEY (sandbox_id, at_ms),
    KEY sandbox_samples_at (at_ms)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Sandboxes whose metrics were asked for lately; they are measured more often.
CREATE TABLE sample_wants (
    sandbox_id CHAR(30) COLLATE ascii_bin NOT NULL,
    asked_at_ms BIGINT NOT NULL,
    PRIMARY KEY (sandbox_id),
    KEY sample_wants_asked (asked_at_ms)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- ===== Events and webhooks =====

-- New events. A change inserts its event here in its own transaction. Transactions end in another order than their
-- numbers were given, so only the sequencer reads this table: it moves committed rows to events and numbers them there.
CREATE TABLE event_outbox (
    seq BIGINT UNSIGNED NOT NULL AUTO_INCREMENT,
    team_id CHAR(30) COLLATE ascii_bin NOT NULL,
    kind VARCHAR(40) COLLATE ascii_bin NOT NULL,
    sandbox_id CHAR(30) COLLATE ascii_bin NULL,
    data VARCHAR(4000) NOT NULL,
    at_ms BIGINT NOT NULL,
    PRIMARY KEY (seq)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Events in their final order: when a number can be read, no lower number is still to come. seq: of the outbox.
CREATE TABLE events (
    id BIGINT UNSIGNED NOT NULL AUTO_INCREMENT,
    seq BIGINT UNSIGNED NOT NULL,
    team_id CHAR(30) COLLATE ascii_bin NOT NULL,
    kind VARCHAR(40) COLLATE ascii_bin NOT NULL,
    sandbox_id CHAR(30) COLLATE ascii_bin NULL,
    data VARCHAR(4000) NOT NULL,
    at_ms BIGINT NOT NULL,
    PRIMARY KEY (id),
    KEY events_of_team (team_id, id),
    KEY events_of_sandbox (sandbox_id, id),
    KEY events_at (at_ms)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- One row: the holder of its lock moves events. last_id: every event up to this number is there.
CREATE TABLE event_sequencer (
    one TINYINT UNSIGNED NOT NULL,
    last_id BIGINT UNSIGNED NOT NULL,
    PRIMARY KEY (one)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
INSERT INTO event_sequencer (one, last_id) VALUES (1, 0);

-- Events that could come without end: the next one of a subject and kind is not before until_ms.
CREATE TABLE event_throttles (
    subject CHAR(30) COLLATE ascii_bin NOT NULL,
    kind VARCHAR(40) COLLATE ascii_bin NOT NULL,
    until_ms BIGINT NOT NULL,
    PRIMARY KEY (subject, kind),
    KEY event_throttles_until (until_ms)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Webhooks of teams. cursor_id: every event up to this number was delivered or waits in webhook_messages. kinds:
-- comma-separated; '': all. Secrets are sealed, and removed from a deleted webhook, whose row stays for a while for
-- repeated requests. form: standard, e2b (the message format and signature of E2B's clients). due_at_ms: when the first
-- message is to be sent again; NULL: none. changed_at_ms: the last change of what the delivery reads.
CREATE TABLE webhooks (
    id CHAR(30) COLLATE ascii_bin NOT NULL,
    team_id CHAR(30) COLLATE ascii_bin NOT NULL,
    url VARCHAR(2000) COLLATE ascii_bin NOT NULL,
    kinds VARCHAR(1023) COLLATE ascii_bin NOT NULL,
    enabled TINYINT UNSIGNED NOT NULL DEFAULT 1,
    secret VARBINARY(255) NOT NULL,
    old_secret VARBINARY(255) NULL,
    old_secret_until_ms BIGINT NULL,
    cursor_id BIGINT UNSIGNED NOT NULL,
    delivered_at_ms BIGINT NULL,
    failed_at_ms BIGINT NULL,
    created_by CHAR(30) COLLATE ascii_bin NOT NULL,
    created_at_ms BIGINT NOT NULL,
    deleted_at_ms BIGINT NULL,
    form VARCHAR(16) COLLATE ascii_bin NOT NULL DEFAULT 'standard',
    name VARCHAR(255) NULL,
    due_at_ms BIGINT NULL,
    changed_at_ms BIGINT NOT NULL DEFAULT 0,
    PRIMARY KEY (id),
    KEY webhooks_deleted (deleted_at_ms),
    KEY webhooks_due (enabled, due_at_ms),
    KEY webhooks_changed (changed_at_ms),
    KEY webhooks_of_team (team_id, id)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Deliveries to repeat, dead letters, and tests. The receiver sees the same message_id each time.
CREATE TABLE webhook_messages (
    id CHAR(30) COLLATE ascii_bin NOT NULL,
    webhook_id CHAR(30) COLLATE ascii_bin NOT NULL,
    message_id VARCHAR(40) COLLATE ascii_bin NOT NULL,
    kind VARCHAR(40) COLLATE ascii_bin NOT NULL,
    body VARCHAR(6000) NOT NULL,
    state VARCHAR(10) COLLATE ascii_bin NOT NULL,
    attempts INT UNSIGNED NOT NULL DEFAULT 0,
    created_at_ms BIGINT NOT NULL,
    next_at_ms BIGINT NOT NULL,
    last_status INT UNSIGNED NULL,
    last_error VARCHAR(255) NULL,
    PRIMARY KEY (id),
    UNIQUE KEY webhook_messages_once (webhook_id, message_id),
    KEY webhook_messages_list (webhook_id, id),
    KEY webhook_messages_due (state, webhook_id, next_at_ms)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- ===== Audit =====

-- The audit log: actor, action, resource, time, address and result. The programs' database login may only add and read
-- rows here and in audit_chain (sandlotctl migrate grants that). mac proves that a row is unchanged. begun_id: the row of
-- the beginning of an act whose end this row records.
CREATE TABLE audit_log (
    id CHAR(30) COLLATE ascii_bin NOT NULL,
    at_ms BIGINT NOT NULL,
    team_id VARCHAR(30) COLLATE ascii_bin NOT NULL,
    action VARCHAR(40) COLLATE ascii_bin NOT NULL,
    resource VARCHAR(255) NOT NULL,
    actor_kind VARCHAR(8) COLLATE ascii_bin NOT NULL,
    actor_id VARCHAR(64) NOT NULL,
    user_id VARCHAR(30) COLLATE ascii_bin NOT NULL,
    address VARCHAR(45) COLLATE ascii_bin NOT NULL,
    request_id VARCHAR(64) COLLATE ascii_bin NOT NULL,
    result VARCHAR(8) COLLATE ascii_bin NOT NULL,
    error VARCHAR(40) COLLATE ascii_bin NOT NULL,
    begun_id VARCHAR(30) COLLATE ascii_bin NOT NULL,
    mac_key_id SMALLINT UNSIGNED NOT NULL,
    mac BINARY(32) NOT NULL,
    PRIMARY KEY (id),
    KEY audit_log_team (team_id, id),
    KEY audit_log_action (team_id, action, id),
    KEY audit_log_resource (resource, id)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Refused acts that have no row in audit_log of their own: unwritten of this actor since its last row. Until until_ms
-- they are only counted.
CREATE TABLE audit_refusals (
    actor_id VARCHAR(64) NOT NULL,
    until_ms BIGINT NOT NULL,
    unwritten INT UNSIGNED NOT NULL,
    PRIMARY KEY (actor_id),
    KEY audit_refusals_until (until_ms)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- The rows of audit_log in the order of their commits; the hash of each covers all rows before it.
CREATE TABLE audit_chain (
    seq BIGINT UNSIGNED NOT NULL,
    audit_id CHAR(30) COLLATE ascii_bin NOT NULL,
    team_id VARCHAR(30) COLLATE ascii_bin NOT NULL,
    at_ms BIGINT NOT NULL,
    row_mac BINARY(32) NOT NULL,
    hash_key_id SMALLINT UNSIGNED NOT NULL,
    hash BINARY(32) NOT NULL,
    PRIMARY KEY (seq),
    UNIQUE KEY audit_chain_row (audit_id)
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;

-- Deletes audit rows with the rights of the migrating login, never rows younger than 30 days.
CREATE PROCEDURE audit_prune(IN of_team VARCHAR(30) CHARACTER SET ascii, IN before_ms BIGINT, IN most INT UNSIGNED)
    MODIFIES SQL DATA SQL SECURITY DEFINER
    DELETE FROM audit_log WHERE team_id = of_team COLLATE ascii_bin AND at_ms < before_ms
        AND at_ms < (UNIX_TIMESTAMP() - 30 * 86400) * 1000 ORDER BY id LIMIT most;

-- Deletes the beginning of the chain, where no row of the log is left.
CREATE PROCEDURE audit_trim(IN before_seq BIGINT UNSIGNED)
    MODIFIES SQL DATA SQL SECURITY DEFINER
    DELETE FROM audit_chain WHERE seq < before_seq AND at_ms < (UNIX_TIMESTAMP() - 30 * 86400) * 1000
        AND NOT EXISTS (SELECT 1 FROM audit_log WHERE audit_log.id = audit_chain.audit_id);

-- ===== Idempotency =====

-- Requests with an Idempotency-Key. state: running, done. The stored answer is sealed. made_id: the record that an
-- attempt made, written in the same transaction.
CREATE TABLE idempotency_keys (
    id CHAR(30) COLLATE ascii_bin NOT NULL,
    user_id CHAR(30) COLLATE ascii_bin NOT NULL,
    method VARCHAR(8) COLLATE ascii_bin NOT NULL,
    path VARCHAR(255) COLLATE ascii_bin NOT NULL,
    idempotency_key VARCHAR(255) COLLATE ascii_bin NOT NULL,
    body_key_id SMALLINT UNSIGNED NOT NULL,
    body_mac BINARY(32) NOT NULL,
    state VARCHAR(8) COLLATE ascii_bin NOT NULL,
    attempt CHAR(30) COLLATE ascii_bin NOT NULL,
    attempts INT UNSIGNED NOT NULL,
    lease_until_ms BIGINT NOT NULL,
    made_id CHAR(30) COLLATE ascii_bin NULL,
    status SMALLINT UNSIGNED NULL,
    answer_sealed MEDIUMBLOB NULL,
    answer_bytes INT UNSIGNED NOT NULL DEFAULT 0,
    created_at_ms BIGINT NOT NULL,
    PRIMARY KEY (id),
    UNIQUE KEY idempotency_keys_scope (user_id, method, path, idempotency_key),
    KEY idempotency_keys_use (user_id, created_at_ms, answer_bytes),
    KEY idempotency_keys_age (created_at_ms),
    CONSTRAINT idempotency_keys_user FOREIGN KEY (user_id) REFERENCES users (id) ON DELETE CASCADE
) ENGINE=InnoDB DEFAULT CHARACTER SET utf8mb4 COLLATE utf8mb4_bin;
