<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

final class Invitation
{
    /**
     * @param string $team Slug of the team.
     * @param string $name The invited user.
     * @param string|null $invitedBy The owner who invited; null: that user was removed.
     */
    public function __construct(
        public readonly string $team,
        public readonly string $name,
        public readonly Role $role,
        public readonly ?string $invitedBy,
        public readonly \DateTimeImmutable $createdAt,
        public readonly \DateTimeImmutable $expiresAt,
    ) {
    }

    /** @internal */
    public static function read(Fields $fields): self
    {
        return new self(
            team: $fields->string('team'),
            name: $fields->string('name'),
            role: $fields->enum('role', Role::class),
            invitedBy: $fields->stringOrNull('invited_by'),
            createdAt: $fields->time('created_at'),
            expiresAt: $fields->time('expires_at'),
        );
    }
}
