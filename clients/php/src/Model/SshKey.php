<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

final class SshKey
{
    /**
     * @param string $publicKey Type and base64, as in a .pub file.
     * @param list<string>|null $teams null: every team of the user.
     */
    public function __construct(
        public readonly string $id,
        public readonly string $name,
        public readonly string $publicKey,
        public readonly string $fingerprint,
        public readonly ?array $teams,
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
            name: $fields->string('name'),
            publicKey: $fields->string('public_key'),
            fingerprint: $fields->string('fingerprint'),
            teams: $fields->stringsOrNull('teams'),
            createdAt: $fields->time('created_at'),
            expiresAt: $fields->timeOrNull('expires_at'),
            lastUsedAt: $fields->timeOrNull('last_used_at'),
        );
    }
}
