<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

final class CreatedKey
{
    /**
     * @param list<Scope> $scopes
     * @param list<string>|null $teams null: every team of the user.
     * @param list<string> $excludedBy Of a key for every team: teams whose owners excluded it.
     * @param bool $endsWithSession Whether the key ends with the sign-in that made it without the password.
     * @param string $key The key itself, shown this once.
     * @param string $e2bKey The same key as clients of E2B spell it: `e2b_` and hexadecimal digits.
     */
    public function __construct(
        public readonly string $id,
        public readonly string $name,
        public readonly array $scopes,
        public readonly ?array $teams,
        public readonly array $excludedBy,
        public readonly bool $endsWithSession,
        public readonly \DateTimeImmutable $createdAt,
        public readonly ?\DateTimeImmutable $expiresAt,
        public readonly ?\DateTimeImmutable $lastUsedAt,
        public readonly string $key,
        public readonly string $e2bKey,
    ) {
    }

    /** @internal */
    public static function read(Fields $fields): self
    {
        return new self(
            id: $fields->string('id'),
            name: $fields->string('name'),
            scopes: $fields->enums('scopes', Scope::class),
            teams: $fields->stringsOrNull('teams'),
            excludedBy: $fields->strings('excluded_by'),
            endsWithSession: $fields->bool('ends_with_session'),
            createdAt: $fields->time('created_at'),
            expiresAt: $fields->timeOrNull('expires_at'),
            lastUsedAt: $fields->timeOrNull('last_used_at'),
            key: $fields->string('key'),
            e2bKey: $fields->string('e2b_key'),
        );
    }
}
