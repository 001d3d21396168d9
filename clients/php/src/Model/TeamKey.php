<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

final class TeamKey
{
    /**
     * @param string $user The user that created it.
     * @param list<Scope> $scopes
     * @param bool $allTeams Whether it is for every team of its user.
     */
    public function __construct(
        public readonly string $id,
        public readonly string $user,
        public readonly string $name,
        public readonly TeamKeyKind $kind,
        public readonly array $scopes,
        public readonly bool $allTeams,
        public readonly \DateTimeImmutable $createdAt,
        public readonly ?\DateTimeImmutable $expiresAt,
        public readonly ?\DateTimeImmutable $lastUsedAt,
    ) {
    }

    /** @internal */
    public static function read(Fields $fields): self
    {
        return new self(
            id: $fields->string('id'),
            user: $fields->string('user'),
            name: $fields->string('name'),
            kind: $fields->enum('kind', TeamKeyKind::class),
            scopes: $fields->enums('scopes', Scope::class),
            allTeams: $fields->bool('all_teams'),
            createdAt: $fields->time('created_at'),
            expiresAt: $fields->timeOrNull('expires_at'),
            lastUsedAt: $fields->timeOrNull('last_used_at'),
        );
    }
}
