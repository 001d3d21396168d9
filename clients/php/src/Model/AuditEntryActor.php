<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

/** The actor. */
final class AuditEntryActor
{
    /**
     * @param AuditEntryActorKind $kind An API key, a key of the SSH entry point, a user at the console, the operator
     *   of the deployment, or the service itself.
     * @param string $id The id of the key or the session; the operator's login; or a part of the service, such as
     *   deadline.
     * @param string|null $userId The user behind it.
     * @param string|null $user Its name, unless the user is gone.
     */
    public function __construct(
        public readonly AuditEntryActorKind $kind,
        public readonly string $id,
        public readonly ?string $userId,
        public readonly ?string $user,
    ) {
    }

    /** @internal */
    public static function read(Fields $fields): self
    {
        return new self(
            kind: $fields->enum('kind', AuditEntryActorKind::class),
            id: $fields->string('id'),
            userId: $fields->stringOrNull('user_id'),
            user: $fields->stringOrNull('user'),
        );
    }
}
