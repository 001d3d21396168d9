<?php

// SPDX-License-Identifier: GPL-2.0-or-later
// Made by bin/generate from the API's document.

declare(strict_types=1);

namespace Sandlot\Model;

final class CreateKey implements \JsonSerializable
{
    /**
     * @param list<Scope> $scopes
     * @param string|null $name At most 64 characters.
     * @param list<string>|null $teams
     * @param string|null $password Of a sign-in: the user's password, so that the key does not end with the sign-in.
     */
    public function __construct(
        public readonly array $scopes,
        public readonly ?string $name = null,
        public readonly ?array $teams = null,
        public readonly ?\DateTimeInterface $expiresAt = null,
        public readonly ?string $password = null,
    ) {
    }

    public function jsonSerialize(): object
    {
        return Members::of([
            'scopes' => $this->scopes,
            'name' => $this->name,
            'teams' => $this->teams,
            'expires_at' => Members::time($this->expiresAt),
            'password' => $this->password,
        ]);
    }
}
